"""Cases, metrics by cohort, paired differences and gates. Filled by the evaluation work."""
