"""Made-up problems that say whether what owners answer counts."""
