"""What owners, sites and peers compute and release (`owners/`, `sites/`, `peers/`), the questions
that ask for it (`query`, `invitation`), and the models that come of it (`models/`).

Owner, algorithms and everything above may import it; it imports sums, data, mechanisms and wire.
Importing the room itself imports nothing: a saved model is read without what owners compute.
"""
