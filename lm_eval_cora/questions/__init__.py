"""A row of a source -> Question: files, columns, right option, repairs, options of the user, exemplars."""
