"""Data of papers A and B by name, dealt out to owners; and the two lines that every picture has
besides the paper's.

Those are the data user's sample alone, and our own method: that model refined with one share per
owner.
"""

from dataclasses import replace
from functools import lru_cache

import numpy as np

from tacit._util.checks import bad
from tacit.algorithms.public_baseline import PublicModel, fit_public
from tacit.algorithms.question import Population
from tacit.algorithms.refinement import refine
from tacit.data.cohort import Cohort, Public
from tacit.engines.inline import Inline
from tacit.learners.models.ensemble import Model
from tacit.mechanisms.streams import Stream
from tacit_papers.datasets import brazil, fashion_words, mnist_words, synthetic
from tacit_papers.datasets.split import Split

DATASETS = (
    "synthetic",
    "mnist",
    "fashion",
    "brazil",
    "mnist ten",
    "mnist ten, 100 words",
    "fashion, 50 words",
)
_TEN = tuple(range(10))
_TEST_ROWS = 50_000  # of a million synthetic rows: a standard error of 0.2 points or less
_PUBLIC_ROWS = 20_000  # that the data user's own model is fitted to, of the census' 100,000
MOST_OWNERS = 10_000  # that refine it: more would only take longer
_OUR_RUNS = 2  # of it in a paper's cell, which is about the paper: `tacit reproduce ahead` has ten


@lru_cache(maxsize=2)
def load_split(name: str, quick: bool) -> Split:
    """A data set by its name, when `quick` fewer rows of it; the last two are kept in memory.

    All ten digits have 6,000 training images each as in MNIST, moved copies among them; of
    Fashion-MNIST only two classes of the training images are at hand. The census is generated.
    """
    if name not in DATASETS:
        raise bad("data set", f"one of {DATASETS}", name)
    if name == "synthetic":
        return synthetic(n=60_000) if quick else _fewer_tests(synthetic())
    if name == "brazil":
        return brazil(20_000, 5_000, 2_000) if quick else brazil(train=1_000_000, public=100_000)
    words = 100 if name in ("fashion", "mnist ten, 100 words") else 50
    if name.startswith("fashion"):
        return fashion_words(words=words)
    if name == "mnist":
        return mnist_words(words=words)
    return mnist_words(_TEN, words=words, per_class=6_000, test_per_class=890)


def _fewer_tests(split: Split) -> Split:
    return replace(split, X_test=split.X_test[:_TEST_ROWS], y_test=split.y_test[:_TEST_ROWS])


def deal(split: Split, owners: int, rows: int, stream: Stream) -> Cohort:
    """Training rows dealt out at random to owners of equal size.

    No row is dealt twice before all have been dealt: the papers' own settings can need more rows
    than there are.
    """
    rng = np.random.default_rng(stream.words(np.arange(1), 0, 4)[0])
    have, need = len(split.y_train), owners * rows
    chosen = np.concatenate([rng.permutation(have) for _ in range(-(-need // have))])[:need]
    return Cohort(split.X_train[chosen], split.y_train[chosen], np.arange(owners + 1) * rows)


def public_of(split: Split) -> Public:
    """The data user's sample."""
    return Public(split.X_public, split.y_public, split.classes)


def _own(split: Split) -> Public:
    """So much of it as its own model needs."""
    return Public(split.X_public[:_PUBLIC_ROWS], split.y_public[:_PUBLIC_ROWS], split.classes)


def accuracy(model: Model, split: Split) -> float:
    return float((model.predict(split.X_test) == split.y_test).mean())


@lru_cache(maxsize=2)
def public_model(split: Split) -> PublicModel:
    """The data user's own model, the best of three kinds by cross-validation on its sample."""
    return fit_public(_own(split))


@lru_cache(maxsize=2)
def accuracy_alone(split: Split) -> float:
    """Test accuracy of the data user's own model."""
    return accuracy(public_model(split).model, split)


def ours_in(split: Split, run: int) -> bool:
    """Whether our own line is drawn in this run of a paper's cell: in the first ones of two
    classes. With ten, refining takes longer than all of the paper's lines together.
    """
    return split.classes == 2 and run < _OUR_RUNS


def our_accuracy(split: Split, cohort: Cohort, epsilon: float, stream: Stream) -> float:
    """Test accuracy of the data user's own model, refined with one epsilon-private share of each
    owner.

    Of many owners the first `MOST_OWNERS` are asked.
    """
    cohort = cohort[:MOST_OWNERS]
    crowd = Population(len(cohort), epsilon, len(cohort.y) // len(cohort))
    refined = Inline(cohort, epsilon, stream).run(
        refine(_own(split), crowd, "auto", epsilon, maps=("linear",), own=public_model(split))
    )
    return accuracy(refined.model, split)
