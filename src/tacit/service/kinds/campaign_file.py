"""A campaign's file: what the data user writes down before anything begins. One class for each
kind of campaign, which `register` makes known.
"""

import logging
from abc import ABC, abstractmethod
from dataclasses import MISSING, dataclass, fields
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, ClassVar, Self, TypedDict, TypeVar, get_args, get_origin

import httpx
import numpy as np

from tacit._util.checks import bad, one_of, positive, whole
from tacit._util.settings import read_settings
from tacit.data.cohort import Public
from tacit.data.number_target import NumberSchema, Range
from tacit.data.sample import ColumnRoles, Sample
from tacit.data.schema import Schema
from tacit.data.table_file import TableFile
from tacit.data.table_rows import read_owned, read_sample
from tacit.estimators.group_planning import GroupPlan
from tacit.learners.learner import ReportTerms
from tacit.mechanisms.spaces import Space
from tacit.service.kinds.kind import CampaignTerms
from tacit.service.protocol.handshake import check_url, no_cookies, trust
from tacit.sums import HOW, NOBODY
from tacit.sums.halves import no_rehearsal
from tacit.sums.vector_terms import MINIMUM, VectorTerms
from tacit.wire.envelopes import can_seal_to

log = logging.getLogger(__name__)
KIND = "kind"  # the entry that says which kind of campaign it is
DEFAULT = "classifier"  # as of `tacit fit`
SPECS: dict[str, type["CampaignSpec"]] = {}
PUBLIC, MEMBERS, ADMINISTRATORS = WHO = "public", "members", "administrators"


@dataclass(frozen=True)
class Readers:
    """Who may read figures and model of a campaign: one of `WHO` each."""

    status: str = PUBLIC
    model: str = PUBLIC


class CommonTerms(TypedDict):
    """What terms of every kind begin with."""

    name: str
    schema: Schema
    label: str
    start: int
    minimum: int
    deadline: float
    sample: bytes


@dataclass(frozen=True, kw_only=True)
class CampaignSpec(ABC):
    """Entries that every campaign file has, beside `kind`.

    name : what the campaign is called.             sample : the data user's own table, CSV or
    parquet; it is public.
    label : the column to predict.                  owner : a column of the sample that names
    owners, if it has one.
    leave_out : columns that are no features.       categories : columns of numbers that are codes.
    epsilon : what an owner may spend: a number, or several to choose from.
    start : how many owners must have enrolled before it begins.
    deadline : seconds that a question lasts at most.
    test : a table that nothing else looks at, in the columns of the sample; the published model and
    that of the sample alone are compared on it. It is public.
    status_for, model_for : who may read the figures, and the model: "public", "members" (whoever
    takes part) or "administrators".
    """

    terms: ClassVar[type[CampaignTerms]]
    paths: ClassVar[tuple[str, ...]] = ("sample", "test")

    name: str
    sample: Path
    label: str
    test: Path | None = None
    owner: str | None = None
    leave_out: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    epsilon: tuple[float, ...]
    start: int
    deadline: float = 3600.0
    status_for: str = PUBLIC
    model_for: str = PUBLIC

    @property
    def readers(self) -> Readers:
        """Who may read what."""
        return Readers(self.status_for, self.model_for)

    @classmethod
    def read(cls, path: str | Path) -> Self:
        """From a TOML file of this kind; paths in it are beside it, unknown names are refused."""
        file = Path(path)
        content = entries(file)
        if (kind := content.pop(KIND, DEFAULT)) != cls.terms.kind:
            raise bad(f"{file}: {KIND}", repr(cls.terms.kind), kind)
        known = {field.name for field in fields(cls)}
        missing = {field.name for field in fields(cls) if field.default is MISSING} - set(content)
        if content.get("trust", NOBODY) == HOW and "trust" not in known:
            raise ValueError(
                f"{file}: trust = {HOW!r} is of kinds 'boosting', 'classifier' and 'sites'; one of "
                f"kind {kind!r} has no helper: leave it out, and each adds noise of its own"
            )
        if missing or not set(content) <= known:
            wrong = (
                f"missing {sorted(missing)}"
                if missing
                else f"unknown {sorted(set(content) - known)}"
            )
            raise ValueError(f"{file}: {wrong}; a campaign of kind {kind!r} has {sorted(known)}")
        try:
            return cls(**cls._take(content, file.parent))
        except ValueError as problem:
            raise ValueError(f"{file}: {problem}") from None

    @classmethod
    def _take(cls, content: dict[str, Any], folder: Path) -> dict[str, Any]:
        """Entries as a campaign has them; files are in a folder."""
        many = content["epsilon"] if isinstance(content["epsilon"], list) else [content["epsilon"]]
        epsilon = sorted(positive("epsilon", each) for each in many)
        taken = content | {"epsilon": epsilon}
        for field in fields(cls):
            if field.name in taken:
                _check_form(field.name, field.type, taken[field.name])
        for name, value in taken.items():
            if isinstance(value, list):
                taken[name] = tuple(value)
            elif name in cls.paths:
                taken[name] = folder / value
            elif name in ("status_for", "model_for"):
                one_of(name, value, WHO)
        whole("start", taken["start"], 1)
        deadline = positive("deadline", taken.get("deadline", 3600.0))
        return taken | {"deadline": deadline}

    @abstractmethod
    def prepare(self, sum_key: bytes = b"") -> tuple[CampaignTerms, Public]:
        """The terms, and the data user's sample as the schema encodes it; sums need the
        coordinator's `sum_key`.
        """

    def common(self, sample: Sample, minimum: int) -> CommonTerms:
        """What terms of every kind begin with; a question needs `minimum` reports."""
        return {
            "name": self.name,
            "schema": sample.schema,
            "label": self.label,
            "start": self.start,
            "minimum": minimum,
            "deadline": self.deadline,
            "sample": sample.digest,
        }

    def plan(self, terms: Any, public: Public) -> GroupPlan | None:
        """What asking should bring, from the sample alone; None: it is not foreseen here."""
        return None

    def helper_client(self) -> httpx.Client:
        """A connection to the second server, for campaigns with sums over all owners."""
        raise TypeError(f"a campaign of kind {self.terms.kind!r} has no helper")

    @property
    def roles(self) -> ColumnRoles:
        """What the columns of the sample are for."""
        return ColumnRoles(self.label, self.owner, None, self.categories, self.leave_out)

    def read_sample(self) -> Sample:
        """The data user's table, described and read as `tacit fit` does."""
        sample = read_sample(TableFile.open(self.sample), self.roles)
        for note in sample.notes:
            log.info("sample: %s", note)
        return sample

    def read_test(self, schema: Schema) -> Public | None:
        """The rows that models are compared on, by the campaign's schema; None: there are none."""
        if self.test is None:
            return None
        if self.test.exists() and self.test.samefile(self.sample):
            raise ValueError(f"test must be other rows than the sample's, got {self.test} for both")
        file = TableFile.open(self.test)
        owned = read_owned(file, ColumnRoles(self.label), schema, one_owner=True)
        labels = schema.encode_labels(owned.labels)
        known = labels >= 0
        if not known.any():
            raise ValueError(f"{self.test} has no row with a known {self.label!r}")
        if isinstance(schema, NumberSchema):  # what lies beyond the range is measured where it is
            away = schema.range.places(owned.labels).clip(-_BEYOND, _BEYOND) * Range.STEPS
            labels = np.rint(np.nan_to_num(away)).astype(np.int64)
        return Public(schema.encode(owned.table).X[known], labels[known], schema.labels)


_BEYOND = 1e6  # widths of a target's range
_HELP = ("helper", "helper_key")


@dataclass(frozen=True, kw_only=True)
class HelpedSpec(CampaignSpec):
    """Entries of kinds whose sums two servers may add up.

    trust : "nobody" (reports are randomised before they leave), or "two servers" (shares leave in
    two sealed halves with a proof, and each server adds noise to its sum): much more is learned, by
    owners who trust that one of the two is honest. Then `epsilon` is one number, and
        delta : the chance that it does not hold; 0 asks for pure epsilon.
        helper, helper_key : address and public key (hex) of the second server, run by somebody
        else. helper_ca : a certificate to trust.
    """

    paths: ClassVar[tuple[str, ...]] = ("sample", "test", "helper_ca")

    trust: str = NOBODY
    delta: float = 1e-6
    helper: str | None = None
    helper_key: str | None = None
    helper_ca: Path | None = None

    def __post_init__(self) -> None:
        one_of("trust", self.trust, (NOBODY, HOW))
        given = [name for name in _HELP if getattr(self, name) is not None]
        if len(given) != (len(_HELP) if self.has_helper else 0):
            raise ValueError(
                f"{' and '.join(_HELP)} must be given where a second server adds up, with trust = "
                f"'{HOW}' or sums over all owners, and only there"
            )
        if self.has_helper:
            read_key("helper_key", self.helper_key)
        if self.trust == HOW and len(self.epsilon) != 1:
            raise bad("epsilon", f"one number with trust = '{HOW}'", self.epsilon)

    @property
    def has_helper(self) -> bool:
        """Whether a second server adds up."""
        return self.trust == HOW

    def keys(self, sum_key: bytes) -> tuple[bytes, bytes]:
        """Of coordinator and helper."""
        return sum_key, no_rehearsal("helper_key", read_key("helper_key", self.helper_key))

    def terms_of(self, space: Space, mechanism: str, minimum: int) -> ReportTerms | VectorTerms:
        """On what terms an owner's one share of this space is asked for."""
        if self.trust == HOW:
            (epsilon,) = self.epsilon
            return VectorTerms.of(space, epsilon, self.delta, minimum=max(minimum, MINIMUM))
        return ReportTerms.of(mechanism, space, np.array(self.epsilon))

    def helper_client(self) -> httpx.Client:
        """A connection to the helper; checking many halves takes it a while."""
        address = check_url("helper", str(self.helper))
        trusted = trust(self.helper_ca)
        return httpx.Client(base_url=address, verify=trusted, timeout=300.0, cookies=no_cookies())


def read_key(name: str, text: str | None) -> bytes:
    """The public key that an entry names, if it is one that anything can be sealed to."""
    try:
        key = bytes.fromhex(str(text))
    except ValueError:
        key = b""
    if not can_seal_to(key):
        raise bad(name, "a helper's public key, 64 hexadecimal digits", text)
    return key


Spec = TypeVar("Spec", bound=CampaignSpec)


def register(spec: type[Spec]) -> type[Spec]:
    """Make a kind of campaign known, by the class of its file; a decorator."""
    kind = spec.terms.kind
    if SPECS.setdefault(kind, spec) is not spec:
        raise ValueError(f"kind must be new, got {kind!r}: {SPECS[kind].__name__} has that name")
    return spec


def entries(file: Path) -> dict[str, Any]:
    """What a campaign file says."""
    return read_settings(file, "campaign")


_DIGITS = 18  # no message holds whole numbers of 20
# the values that an entry of a kind takes, and how they are called
_FORMS: dict[object, tuple[tuple[type, ...], str]] = {
    str: ((str,), "a text"),
    Path: ((str,), "the name of a file"),
    int: ((int,), f"a whole number of at most {_DIGITS} digits"),
    float: ((int, float), "a number"),
}


def _check_form(name: str, kind: Any, value: Any) -> None:
    """Refuse a value of another form than an entry of a `kind` has: of a name, of numbers, or of a
    list of these. Other kinds check their own.
    """
    if get_origin(kind) is UnionType:
        kind = next(each for each in get_args(kind) if each is not NoneType)
    is_list = get_origin(kind) is tuple
    form = _FORMS.get(get_args(kind)[0] if is_list else kind)
    if form is None:
        return
    types, words = form
    values = value if isinstance(value, list) else [value]
    fits = all(isinstance(each, types) and not isinstance(each, bool) for each in values)
    if types == (int,):
        fits = fits and all(abs(each) < 10**_DIGITS for each in values)
    if not (fits and isinstance(value, list) == is_list):
        raise bad(name, f"a list, of which each is {words}" if is_list else words, value)
