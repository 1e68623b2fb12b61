"""What papers A and B have in common: first learners, curves of boosting, data by name."""
