"""What is promised and what it costs."""
