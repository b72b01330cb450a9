"""Terms and entities, their matching, constraints and scoring."""
