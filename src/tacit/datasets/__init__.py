"""Data to learn from: loaders of public sets and generators, each giving a `Split` in three parts.

Every number that shapes features (vocabulary, scale, threshold) comes from the public part, the data user's own sample.
"""

from tacit.datasets.augment import augment
from tacit.datasets.brazil import brazil, brazil_blocks
from tacit.datasets.files import DataMissing
from tacit.datasets.image_words import fashion_words, mnist_words
from tacit.datasets.images import Images, load_fashion, load_mnist
from tacit.datasets.split import Split
from tacit.datasets.synthetic import synthetic
from tacit.datasets.words import VisualWords, fit_words

__all__ = [
    "DataMissing",
    "Images",
    "Split",
    "VisualWords",
    "augment",
    "brazil",
    "brazil_blocks",
    "fashion_words",
    "fit_words",
    "load_fashion",
    "load_mnist",
    "mnist_words",
    "synthetic",
]
