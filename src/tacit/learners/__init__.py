"""What owners, sites and peers compute and release (`owners/`, `sites/`, `peers/`), the questions
that ask for it, and the models that come of it (`models/`).

Owner, algorithms and everything above may import it; it imports sums, data, mechanisms and wire.
"""

from tacit.learners import registry

__all__ = ["registry"]  # importing the room makes all that may travel known to the codec
