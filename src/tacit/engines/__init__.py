"""What runs an algorithm's questions: owners in memory or in files, in this process or by workers
elsewhere, asked as a network would.

Estimators and everything above may import it; it imports algorithms and learners, never the gate.
"""
