"""Base learners: what an owner computes (`share`) and what the data user makes of the answers (`learn`)."""
