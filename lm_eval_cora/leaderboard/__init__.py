"""Many runs or exported records -> a table per benchmark with comparable models -> a static page and a CSV file."""
