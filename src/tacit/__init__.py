"""tacit: many owners train one model; each speaks once, in noise it can prove."""

from tacit.mechanisms.base import Mechanism
from tacit.mechanisms.choose import Choice, choose
from tacit.mechanisms.duchi import Duchi
from tacit.mechanisms.hybrid import Hybrid
from tacit.mechanisms.laplace import Laplace
from tacit.mechanisms.no_privacy import NoPrivacy
from tacit.mechanisms.piecewise import Piecewise
from tacit.mechanisms.privunit import PrivUnit
from tacit.mechanisms.randomized_response import RandomizedResponse
from tacit.mechanisms.reports import Reports, Totals
from tacit.spaces import Ball, Box, Simplex, Space
from tacit.streams import Stream, secure, seeded

__version__ = "0.1.0"

__all__ = [
    "Ball",
    "Box",
    "Choice",
    "Duchi",
    "Hybrid",
    "Laplace",
    "Mechanism",
    "NoPrivacy",
    "Piecewise",
    "PrivUnit",
    "RandomizedResponse",
    "Reports",
    "Simplex",
    "Space",
    "Stream",
    "Totals",
    "choose",
    "secure",
    "seeded",
]
