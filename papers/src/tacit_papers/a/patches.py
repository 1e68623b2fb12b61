"""How large the patches behind visual words are, which no paper says: chosen by cross-validation on
the data user's images.

Words are fitted to four fifths of them and the nearest centroid is judged on the rest, in turn, for
every size, on both image sets. The default (`Patch`) is the size with the least mean error; neither
owners' images nor test images have a say.

Beside it, paper A's boosting on words of small patches, which set MNIST's classes less far apart,
as the paper's features do: what another choice would have given.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar
from warnings import catch_warnings, filterwarnings

import numpy as np
from sklearn.model_selection import StratifiedKFold
from sklearn.neighbors import NearestCentroid

from tacit._util.types import IntArray
from tacit.mechanisms.streams import seeded
from tacit_papers.a.measurements import LEARNERS, BoostingCell
from tacit_papers.datasets import load_fashion, load_mnist, mnist_words
from tacit_papers.datasets.augment import cut
from tacit_papers.datasets.images import ByteArray
from tacit_papers.datasets.words import Patch, fit_words
from tacit_papers.runner import Cell
from tacit_papers.shared.curves import staged_errors
from tacit_papers.shared.first_learner import Line
from tacit_papers.shared.splits import deal

CELLS, SIDES = (3, 4, 5, 6, 7), (1, 2, 3, 4)
LARGEST = 14  # pixels along an edge: half of an image
_PUBLIC = 1_000  # the data user's images
_FOLDS = 5
SMALL = Patch(cell=3, side=2)


@dataclass(frozen=True)
class PatchRow:
    """Cross-validated error of the nearest centroid on the data user's images, and how far apart
    the centroids of the two classes are there.
    """

    dataset: str
    cell: int
    side: int
    error: float
    images: int
    apart: float


@dataclass(frozen=True, kw_only=True)
class PatchCell(Cell):
    """All sizes on the two classes of one image set."""

    paper: ClassVar[str] = "a"

    classes: tuple[int, ...]
    words: int

    def rows(self) -> list[PatchRow]:
        images = (load_mnist if self.dataset == "mnist" else load_fashion)(fetch=False)
        parts = cut(images, self.classes, per_class=1, test_per_class=1, public=_PUBLIC, seed=0)
        return [
            PatchRow(
                dataset=self.dataset,
                cell=cell,
                side=side,
                error=cross_validate(
                    parts.public, parts.y_public, self.words, Patch(cell, side), self.seed
                ),
                images=len(parts.public),
                apart=distance(
                    parts.public, parts.y_public, self.words, Patch(cell, side), self.seed
                ),
            )
            for cell in CELLS
            for side in SIDES
            if cell * side <= LARGEST
        ]


@dataclass(frozen=True)
class SmallPatchRow:
    """Test errors after the first and the last base learner as published, words of small patches;
    means over runs.
    """

    dataset: str
    learner: str
    epsilon: float | None
    first: float
    last: float
    runs: int


@dataclass(frozen=True, kw_only=True)
class SmallPatchCell(BoostingCell):
    """The curves of one base learner on MNIST, patches of another size."""

    def rows(self) -> list[SmallPatchRow]:  # type: ignore[override]
        split, found = mnist_words(patch=SMALL), list[SmallPatchRow]()
        stream = seeded(self.seed).child("paper A", "small patches", self.learner)
        for epsilon in (None, *self.epsilons):
            mechanism = "none" if epsilon is None else "piecewise"
            line = Line("as published", LEARNERS[self.learner][0], mechanism, epsilon)
            ends = []
            for run in range(self.runs):
                owners = self.spare * self.rounds * self.owners
                cohort = deal(split, owners, self.rows_per_owner, stream.child("owners", run))
                coins = stream.child(str(epsilon), run)
                staged = staged_errors(
                    self.boost(split, cohort, line, coins).ensemble, split, self.rounds
                )
                ends.append((float(staged[0]), float(staged[-1])))
            first, last = np.mean(ends, axis=0).tolist()
            found.append(
                SmallPatchRow(
                    self.dataset, self.learner, epsilon, first=first, last=last, runs=self.runs
                )
            )
        return found


def cross_validate(images: ByteArray, y: IntArray, words: int, patch: Patch, seed: int) -> float:
    """Mean error of the nearest centroid on images that neither it nor the words were fitted to."""
    errors = []
    for fitted, judged in StratifiedKFold(_FOLDS, shuffle=True, random_state=seed).split(images, y):
        features = fit_words(images[fitted], words, seed, patch=patch).transform
        with (
            catch_warnings()
        ):  # a word that no image has is the same in all of them, and no trouble
            filterwarnings("ignore", message=".*zero standard deviation")
            model = NearestCentroid().fit(features(images[fitted]), y[fitted])
        errors.append(1 - model.score(features(images[judged]), y[judged]))
    return float(np.mean(errors))


def distance(images: ByteArray, y: IntArray, words: int, patch: Patch, seed: int) -> float:
    """Between the centroids of both classes, words fitted to all these images."""
    features = fit_words(images, words, seed, patch=patch).transform(images)
    return float(np.linalg.norm(features[y == 1].mean(axis=0) - features[y == 0].mean(axis=0)))


def best_patch(rows: Iterable[PatchRow]) -> Patch:
    """The size with the least error, on average over image sets."""
    errors: dict[tuple[int, int], list[float]] = {}
    for row in rows:
        errors.setdefault((row.cell, row.side), []).append(row.error)
    return Patch(*min(errors, key=lambda size: float(np.mean(errors[size]))))
