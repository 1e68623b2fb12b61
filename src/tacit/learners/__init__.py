"""Base learners: what an owner computes (`share`) and what the data user makes of the answers (`learn`)."""

from tacit.learners.centroid import Centroid
from tacit.learners.logistic import Logistic
from tacit.learners.stump import Stump

__all__ = ["Centroid", "Logistic", "Stump"]  # imported here, so that whoever can read a question knows all of them
