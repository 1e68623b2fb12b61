"""What travels between a data user and an owner: a signed invitation, and the few bytes of a
report.

An invitation names its campaign, counts up in it, ends at a time, and says by which schema rows are
to be read. Its digest is its identity: an owner answers a digest once and repeats the same bytes
ever after.

A report is version (1 byte), tag (6 bytes of the digest, against mix-ups), level (1 byte: which of
the offered epsilons), and the mechanism's numbers, little-endian: 16 bytes with PrivUnit, whatever
the dimension.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b

import numpy as np

from tacit._util.checks import bad, whole
from tacit._util.types import BoolArray, IntArray
from tacit.learners.query import Query
from tacit.mechanisms.base import Reports
from tacit.wire import encode, message

PURPOSE = "invitation"
_VERSION = 1
_TAG = 6  # bytes
_HEADER = 2 + _TAG  # version, tag, level
_DIGEST = 32  # bytes
_LARGEST_NUMBER = (1 << 63) - 1  # what a ledger can write down


@message("invitation")
@dataclass(frozen=True, eq=False)
class Invitation:
    """One question of a campaign; `expires` is in seconds since 1970, `schema` the digest of the
    schema.
    """

    campaign: str
    number: int
    expires: int
    schema: bytes
    query: Query

    def __post_init__(self) -> None:
        if not (1 <= len(self.campaign) <= 200 and self.campaign.isprintable()):
            raise bad("campaign", "a name of 1 to 200 printable characters", self.campaign[:20])
        if not whole("number", self.number, 1) <= _LARGEST_NUMBER:
            raise bad("number", f"at most {_LARGEST_NUMBER}", self.number)
        whole("expires", self.expires, 0)
        if not len(self.schema) == _DIGEST:
            raise bad("schema", f"a digest of {_DIGEST} bytes", len(self.schema))
        if not len(self.query.epsilons) <= 256:
            raise bad(
                "epsilons",
                "at most 256: a report names its level in a byte",
                len(self.query.epsilons),
            )

    @cached_property
    def digest(self) -> bytes:
        """The identity of this invitation: a hash of its canonical bytes."""
        return digest_of(self)


def digest_of(value: object) -> bytes:
    """32 bytes that name a registered object."""
    return blake2b(encode(value), digest_size=_DIGEST).digest()


def pack(digest: bytes, level: int, reports: Reports) -> bytes:
    """The bytes of one report."""
    if not len(reports) == 1:
        raise bad("reports", "one report", len(reports))
    body = b"".join(
        array.astype(array.dtype.newbyteorder("<")).tobytes()
        for array in (reports.points, reports.indices)
    )
    return bytes([_VERSION]) + digest[:_TAG] + bytes([level]) + body


def unpack(
    data: Sequence[bytes], digest: bytes, query: Query
) -> tuple[BoolArray, IntArray, Reports]:
    """Which of some bytes are reports to this query; the levels and the reports of those that are,
    in order.

    Refused are a wrong version, tag, length or level, and what is not on the mechanism's grid.
    Total: no bytes raise.
    """
    size = report_size(query)
    good = np.array([len(each) == size for each in data], dtype=np.bool_)
    sized = b"".join(each for each in data if len(each) == size)
    rows = np.frombuffer(sized, np.uint8).reshape(-1, size)
    header = np.frombuffer(bytes([_VERSION]) + digest[:_TAG], np.uint8)
    levels = rows[:, _HEADER - 1].astype(np.int64)
    fits = (rows[:, : _HEADER - 1] == header).all(axis=1) & (levels < len(query.epsilons))
    good[good] = fits
    rows, levels = rows[fits], levels[fits]
    reports = query.blank(len(rows))
    at = _HEADER
    for array in (reports.points, reports.indices):
        width = array.dtype.itemsize * array.shape[1]
        raw = np.ascontiguousarray(rows[:, at : at + width]).view(array.dtype.newbyteorder("<"))
        array[...] = raw.reshape(array.shape)
        at += width
    valid = query.valid(reports, np.array(query.epsilons)[levels])
    good[good] = valid
    return good, levels[valid], reports[valid]


def tag_of(digest: bytes) -> bytes:
    """The bytes 1 to 7 of every report to the invitation with this digest."""
    return digest[:_TAG]


def report_size(query: Query) -> int:
    """Bytes of a report to this query."""
    return _HEADER + query.blank(1).nbytes
