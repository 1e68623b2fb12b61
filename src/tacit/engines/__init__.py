"""What runs an algorithm's questions: in this process, later over workers and networks."""
