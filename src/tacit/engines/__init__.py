"""What runs an algorithm's questions in this process: owners in memory, asked as a network would.

Estimators and everything above may import it; it imports algorithms and learners, never the gate.
"""
