"""What is shown: rows in, documents, pages and pictures out. It computes nothing."""
