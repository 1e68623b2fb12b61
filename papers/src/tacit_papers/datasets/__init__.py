"""Data to learn from: loaders of public sets and generators, each giving a `Split` in three parts.

Tables also come raw (`load_adult` and so on), with a schema of what is public about them (`ADULT`
and so on).

Every number that shapes features (vocabulary, scale, threshold) comes from the public part, the
data user's own sample.
"""

from tacit_papers.datasets.adult import ADULT, adult, load_adult
from tacit_papers.datasets.augment import augment
from tacit_papers.datasets.brazil import brazil, brazil_blocks
from tacit_papers.datasets.covertype import COVERTYPE, covertype, load_covertype
from tacit_papers.datasets.files import DataMissing
from tacit_papers.datasets.gss import GSS, gss, load_gss
from tacit_papers.datasets.heart import HEART, HeartSplit, heart, load_heart
from tacit_papers.datasets.image_words import fashion_words, mnist_words
from tacit_papers.datasets.images import Images, load_fashion, load_mnist
from tacit_papers.datasets.pnad import PNAD, load_pnad, pnad
from tacit_papers.datasets.split import Split, synthetic
from tacit_papers.datasets.words import VisualWords, fit_words

__all__ = [
    "ADULT",
    "COVERTYPE",
    "GSS",
    "HEART",
    "PNAD",
    "DataMissing",
    "HeartSplit",
    "Images",
    "Split",
    "VisualWords",
    "adult",
    "augment",
    "brazil",
    "brazil_blocks",
    "covertype",
    "fashion_words",
    "fit_words",
    "gss",
    "heart",
    "load_adult",
    "load_covertype",
    "load_fashion",
    "load_gss",
    "load_heart",
    "load_mnist",
    "load_pnad",
    "mnist_words",
    "pnad",
    "synthetic",
]
