"""Export runs in the formats of leaderboards and model cards."""
