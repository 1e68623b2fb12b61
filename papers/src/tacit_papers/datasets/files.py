"""Where data files are looked for, and whether they are the ones they should be.

First in the folder that the environment variable TACIT_DATA names, then in the user's cache folder,
where splits that take long to make are kept, too. Nothing is downloaded here.
"""

import hashlib
import os
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path

import numpy as np

from tacit_papers.datasets.split import Split

# Of the idx files as first distributed (the two Fashion subsets hold only classes 0 and 6 of the
# training images), and of the tables as converted to parquet.
SHA256 = {
    "adult.parquet": "0740fffcacbf04640c6d923e1cc84c8b6489c2e7ba39bc7209674c18857daeed",
    "brazil_pnad_2015.parquet": "7395de88e0e26a0624de32c02be631dc8df4eee6f1394843e30fd530cb721ee4",
    "covtype.parquet": "cebbf3df6a3cab49354803fac82ef8a0f28146b95bd128fbcf5dc90ba6c218fa",
    "fashion_mnist/t10k-images-idx3-ubyte.gz": (
        "346e55b948d973a97e58d2351dde16a484bd415d4595297633bb08f03db6a073"
    ),
    "fashion_mnist/t10k-labels-idx1-ubyte.gz": (
        "67da17c76eaffca5446c3361aaab5c3cd6d1c2608764d35dfb1850b086bf8dd5"
    ),
    "fashion_mnist/train-classes-0-6-images-idx3-ubyte.gz": (
        "42b9f5518e06931b1441c24a01c4277d52b032926abbc0f0b773493915f2f0d1"
    ),
    "fashion_mnist/train-classes-0-6-labels-idx1-ubyte.gz": (
        "ff6b6ffa377fbe4b8fe4b06d331ddc00939c9ab39d3359093968c89e7a918d13"
    ),
    "gss_happiness.parquet": "2cd38416fc612e4ea9a58f9ae023a1047bc0b1a7a26cb63fc1b4ef8a020650c5",
    "heart_disease.parquet": "b058d28a8d20a5083d6f2a5be6b95a574647d25fcb3e1fbc79a162a77486b325",
    "mnist/t10k-images-idx3-ubyte.gz": (
        "8d422c7b0a1c1c79245a5bcf07fe86e33eeafee792b84584aec276f5a2dbc4e6"
    ),
    "mnist/t10k-labels-idx1-ubyte.gz": (
        "f7ae60f92e00ec6debd23a6088c31dbd2371eca3ffa0defaefb259924204aec6"
    ),
    "mnist/train-images-idx3-ubyte.gz": (
        "440fcabf73cc546fa21475e81ea370265605f56be210a4024d2ca8f203523609"
    ),
    "mnist/train-labels-idx1-ubyte.gz": (
        "3552534a0a558bbed6aed32b30c495cca23d567ec52cac8be1a0730e8010255c"
    ),
}


class DataMissing(FileNotFoundError):  # noqa: N818 - it says what happened
    """A data file is in none of the folders; the message says which file, which folders, and
    what to set.
    """

    def __init__(self, name: str, looked: list[Path]) -> None:
        self.name = name
        self.looked = looked
        places = ", ".join(str(folder) for folder in looked)
        hint = "set the environment variable TACIT_DATA to a folder that holds it"
        super().__init__(f"data file {name} not found in {places}; {hint}")


def cache_folder() -> Path:
    """The user's cache folder for this package; it may not exist yet."""
    base = os.environ.get("XDG_CACHE_HOME", "")
    return (Path(base) if base else Path.home() / ".cache") / "tacit"


def data_folders() -> list[Path]:
    """Where files are looked for, in order."""
    named = os.environ.get("TACIT_DATA", "")
    return [*([Path(named)] if named else []), cache_folder()]


def find(name: str) -> Path:
    """The first file of this relative name; `DataMissing` when there is none."""
    folders = data_folders()
    for folder in folders:
        if (folder / name).is_file():
            return folder / name
    raise DataMissing(name, folders)


def read(name: str) -> bytes:
    """The bytes of the file of this name, checked against its sha256 where that is known."""
    path = find(name)
    content = path.read_bytes()
    digest = hashlib.sha256(content).hexdigest()
    if not digest == SHA256.get(name, digest):
        raise ValueError(
            f"{path} must have sha256 {SHA256[name]}, got {digest}: damaged, or not the "
            "original file"
        )
    return content


def make_once(
    name: str, version: int, parameters: Mapping[str, object], make: Callable[[], Split]
) -> Split:
    """The split kept under name, version and parameters; else `make()`, which is then kept.

    The file is written whole or not at all. One that cannot be read is made again; a folder that
    cannot be written is no error.
    """
    spec = repr((name, version, sorted(parameters.items())))
    path = (
        cache_folder() / f"{name}-v{version}-{hashlib.sha256(spec.encode()).hexdigest()[:16]}.npz"
    )
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as arrays:
            return Split(name, **{key: arrays[key] for key in arrays.files})
    except (OSError, EOFError, KeyError, ValueError, TypeError, zipfile.BadZipFile, zlib.error):
        split = make()
    with suppress(OSError):
        _write(path, split)
    return split


def _write(path: Path, split: Split) -> None:
    """Writes beside `path`, then moves there in one step."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, draft = tempfile.mkstemp(dir=path.parent, suffix=".part")
    try:
        with os.fdopen(handle, "wb") as file:
            np.savez_compressed(file, allow_pickle=False, **split.arrays())
        os.replace(draft, path)
    except BaseException:
        Path(draft).unlink(missing_ok=True)
        raise
