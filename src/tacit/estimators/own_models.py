"""A participant's own model in a file of its own. It knows that participant's exact rows: it is for itself alone."""

import os
from dataclasses import dataclass
from pathlib import Path

from tacit.estimators.peer_models import PeerModel
from tacit.learners.additive import Additive
from tacit.learners.cells import Cells
from tacit.learners.own_model import OwnModel
from tacit.types import FloatArray
from tacit.wire import decode, encode, message

_LARGEST = 1 << 30


@message("own model, not to be published")
@dataclass(frozen=True, eq=False)
class KeptModel:
    """An `OwnModel` with the cells it reads rows by. No question and no answer has a place for it."""

    cells: Cells
    released: Additive
    left_out: tuple[int, ...]
    scale: float
    offset: float
    tables: tuple[FloatArray, ...]


def keep_own(path: Path, cells: Cells, own: OwnModel) -> None:
    """Write a participant's own model, whole or not at all, readable by its user alone; `tacit.load` reads it."""
    content = KeptModel(cells, own.released, own.left_out, own.scale, own.offset, own.tables)
    draft = path.with_name(f"{path.name}.{os.getpid()}.part")
    handle = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(handle, "wb") as file:
        file.write(encode(content))
    os.replace(draft, path)


def kept_own(data: bytes) -> PeerModel:
    """The model that `keep_own` wrote."""
    kept = decode(data, KeptModel, _LARGEST)
    own = OwnModel(kept.released, kept.left_out, kept.scale, kept.offset, kept.tables)
    return PeerModel(kept.cells, own)
