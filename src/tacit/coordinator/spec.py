"""A campaign's file: what the data user writes down before anything begins."""

import tomllib
from dataclasses import dataclass, fields
from hashlib import blake2b
from pathlib import Path
from typing import Any

import httpx
import numpy as np

from tacit.campaign.address import checked_url, trust
from tacit.campaign.terms import CampaignTerms
from tacit.checks import bad, positive
from tacit.files import UserTable, read_table, schema_of
from tacit.learners.base import Public, Terms
from tacit.learners.names import learner_of, one_of
from tacit.schema import Schema
from tacit.sums.batch import SumTerms
from tacit.sums.rehearsal import no_rehearsal

_SUMS = {"error_epsilon", "helper", "helper_key"}


@dataclass(frozen=True, kw_only=True)
class CampaignSpec:
    """The entries of a campaign file.

    name : what the campaign is called.             sample : the data user's own table, CSV or parquet; it is public.
    label : the column to predict.                  owner : a column of the sample that names owners, if it has one.
    learner, mechanism, rounds, attempts : as in `PrivateBoosting`.
    epsilon : what an owner may spend on its report: a number, or several to choose from.
    owners_per_round : how many owners a round asks.  start : how many must have enrolled before it begins.
    minimum : reports that a round needs.           deadline : seconds that a round lasts at most.
    error : who judges base models: "public" (the sample) or "owners" (all of them, by a sum after every round); then
        error_epsilon : what each sum costs every owner; sums add up.  error_minimum : reports that a sum needs.
        helper, helper_key : address and public key (hex) of the second server.  helper_ca : a certificate to trust.
    """

    name: str
    sample: Path
    label: str
    owner: str | None = None
    learner: str = "centroid"
    mechanism: str = "auto"
    epsilon: tuple[float, ...]
    rounds: int = 10
    owners_per_round: int
    start: int
    minimum: int = 2
    deadline: float = 3600.0
    attempts: int = 5
    error: str = "public"
    error_epsilon: float | None = None
    error_minimum: int = 10
    helper: str | None = None
    helper_key: str | None = None
    helper_ca: Path | None = None

    def __post_init__(self) -> None:
        one_of("error", self.error, ("public", "owners"))
        given = {name for name in _SUMS if getattr(self, name) is not None}
        if given != (_SUMS if self.error == "owners" else set()):
            raise ValueError(f"{', '.join(sorted(_SUMS))} must be given with error = 'owners', and only then")

    @classmethod
    def read(cls, path: str | Path) -> "CampaignSpec":
        """From a TOML file; paths in it are beside it, unknown names are refused."""
        file = Path(path)
        try:
            content = tomllib.loads(file.read_text(encoding="utf-8"))
        except (OSError, tomllib.TOMLDecodeError) as problem:
            raise ValueError(f"{file} cannot be read as a campaign: {problem}") from problem
        known = {field.name for field in fields(cls)}
        missing = {"name", "sample", "label", "epsilon", "owners_per_round", "start"} - set(content)
        if missing or not set(content) <= known:
            wrong = f"missing {sorted(missing)}" if missing else f"unknown {sorted(set(content) - known)}"
            raise ValueError(f"{file}: {wrong}; a campaign has {sorted(known)}")
        epsilon = content["epsilon"]
        many = epsilon if isinstance(epsilon, list) else [epsilon]
        content["epsilon"] = tuple(sorted(positive("epsilon", each) for each in many))
        for name in {"sample", "helper_ca"} & set(content):
            content[name] = file.parent / str(content[name])
        content["deadline"] = float(content.get("deadline", 3600.0))
        return cls(**content)

    def prepared(self, sum_key: bytes = b"") -> tuple[CampaignTerms, Public]:
        """The terms, and the data user's sample as the schema encodes it; sums need the coordinator's `sum_key`."""
        table = read_table(self.sample)
        schema = schema_of(table, self.label, self.owner)
        public = encoded(table, self.label, schema)
        learner = learner_of(self.learner)
        facts = learner.facts(public)
        terms = Terms.of(self.mechanism, learner.space(facts), np.array(self.epsilon))
        made = CampaignTerms(
            self.name,
            schema,
            learner,
            facts,
            terms,
            self.rounds,
            self.owners_per_round,
            self.attempts,
            self.start,
            self.minimum,
            self.deadline,
            blake2b(public.X.tobytes() + public.y.tobytes(), digest_size=32).digest(),
            self._sums(sum_key),
        )
        return made, public

    def _sums(self, sum_key: bytes) -> SumTerms | None:
        if self.error_epsilon is None or self.helper_key is None:
            return None
        epsilon = positive("error_epsilon", self.error_epsilon)
        helper = no_rehearsal("helper_key", bytes.fromhex(self.helper_key))
        return SumTerms(epsilon, self.error_minimum, sum_key, helper)

    def helper_client(self) -> httpx.Client:
        """A connection to the helper; opening many halves takes it a while."""
        address = checked_url("helper", str(self.helper))
        return httpx.Client(base_url=address, verify=trust(self.helper_ca), timeout=300.0)


def encoded(table: UserTable, label: str, schema: Schema) -> Public:
    """A table's rows with a known label, encoded."""
    labels: Any = schema.encode_labels(table.column(label))
    rows = schema.encode(table.columns).X
    if not (labels >= 0).any():
        raise bad("sample", f"rows with a label of {schema.classes}", label)
    return Public(rows[labels >= 0], labels[labels >= 0], len(schema.classes))
