"""Early stopping of questions, and the number of questions to ask. Does not depend on the harness."""
