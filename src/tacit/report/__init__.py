"""What is shown: rows in, tables and pictures out. It computes nothing."""
