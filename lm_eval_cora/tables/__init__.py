"""Numbers with errors, tables of them, and both as text: what reports, plans, gates and exports print."""
