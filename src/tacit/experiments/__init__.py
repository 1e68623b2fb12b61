"""What is measured: specifications in, rows out."""
