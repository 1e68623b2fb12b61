"""Every case of the vectors against the code: what a client of another language must also do."""

import json
from pathlib import Path

import numpy as np

from tacit.data.cohort import Cohort
from tacit.mechanisms.registry import MECHANISMS
from tacit.mechanisms.streams import Stream

FILE = Path(__file__).parents[2] / "docs" / "reference" / "wire-vectors.json"


def written():
    return json.loads(FILE.read_text())


def hexed(values):
    """Doubles as the digits of their bytes."""
    return np.asarray(values, dtype="<f8").tobytes().hex()


def floats(text):
    return np.frombuffer(bytes.fromhex(text), dtype="<f8").astype(np.float64)


def cohort_of(schema, records, label):
    """The rows of one owner, as a file of texts gives them."""
    columns = {name: np.array([record[name] for record in records]) for name in records[0]}
    encoded = schema.encode(columns)
    labels = schema.encode_labels(columns[label])
    return Cohort.of(encoded.X, labels, np.zeros(len(records)))


def share_of(query, rows, labels):
    """The share of one owner, moved into the ball."""
    cohort = Cohort(
        np.reshape(rows, (len(labels), query.facts.dim)),
        np.asarray(labels, dtype=np.int64),
        np.array([0, len(labels)]),
    )
    with np.errstate(all="ignore"):
        share = query.learner.share(query, cohort)
    return query.learner.space(query.facts).clip(share)[0]


class WrittenTape(Stream):
    """Words that were written down."""

    def __init__(self, words):
        self._words = np.asarray(words, dtype=np.uint64)

    def words(self, rows, start, count):
        assert start + count <= len(self._words), "the tape has ended"
        return np.tile(self._words[start : start + count], (len(rows), 1))

    def child(self, *path):
        return self

    def of(self, owners):
        return self


def report_of(mechanism, epsilons, level, space, share, words):
    made = MECHANISMS[mechanism].over(space, np.array([epsilons[level]]), np.array(epsilons))
    return made.randomize(np.reshape(share, (1, -1)), WrittenTape(words))
