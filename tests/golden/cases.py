"""What must keep its bytes when code moves: models, questions, reports, sums, campaigns, commands.

A case is a function without arguments that gives named bytes, all coins being seeded. Left out on
purpose: the words of guarantees and the program's version inside a saved file, the time at which
a campaign's invitations expire, and the transcript of a campaign, which shows that time. Decimal
numbers of a plan, of the choice of a mechanism and of predictions are written with nine digits.

Floats come from the libraries as pinned in constraints.txt (numpy 2.4.6, scipy 1.17.1,
scikit-learn 1.9.1): other versions may give other last digits, and then digests must be written
anew from a state that is known to be good. `digests.py` says what of the machine they depend on.
The transcripts of fits that are "judged by owners" name the classes `Tally` and `Verdict`.
"""

import asyncio
import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, fields, is_dataclass, replace
from functools import cache, partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from unittest.mock import patch

import msgpack
import numpy as np
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from typer.testing import CliRunner

from tacit import (
    Ball,
    Box,
    Cohort,
    PeerEnsemble,
    PrivateBoosting,
    PrivateClassifier,
    Schema,
    Simplex,
    SiteEnsemble,
    SiteEnsembleRegressor,
    choose,
    load,
    plan,
    seeded,
)

# Names inside the package, and helpers of other tests: whoever moves them changes these lines only.
from tacit.cli import app
from tacit.engines.inline import Inline
from tacit.estimators.persistence import SavedModel, open_model
from tacit.learners.owners.sum_query import SumQuery
from tacit.learners.query import PURPOSE, Invitation, Query, digest_of, pack
from tacit.mechanisms.registry import MECHANISMS
from tacit.mechanisms.spaces import Crosses, Mixture
from tacit.service.coordinator.server import coordinator
from tacit.service.device import member
from tacit.service.device.join import RehearsalPart, join
from tacit.service.helper import Helper, Sheets
from tacit.sums.halves import rehearsal_key
from tacit.sums.secure_sum import TwoServers, two_sided_geometric
from tacit.wire import decode, encode
from tacit.wire.envelopes import open_signed, public_bytes, sign
from tests.cli.made import family_files
from tests.service.coordinator import made as campaigns
from tests.service.helper.made import client_of
from tests.sums.made import added_up, batch, reports, sum_terms

Bytes = Mapping[str, bytes]
SEED = 7
KEY = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))
APART = {"program", "guarantee"}  # fields of a saved model that may change
ALONE = {"transcript", "report", "ended", "stages", "attributes"}  # with a digest of their own
SPACES = {
    "line": Box(dim=1),
    "box": Box(dim=4, radius=2.0),
    "ball": Ball(dim=5),
    "simplex": Simplex(dim=4),
    "mixture": Mixture(blocks=2, size=3),
    "crosses": Crosses(blocks=3, size=2),
}


def joined(parts: list[bytes]) -> bytes:
    """Byte strings one after the other, each behind its length."""
    return b"".join(len(part).to_bytes(8, "little") + part for part in parts)


def digits(value: object) -> bytes:
    """A nested value with nine digits of every number."""
    return json.dumps(_digits(value), sort_keys=True).encode()


def _digits(value: Any) -> Any:
    if is_dataclass(value) and not isinstance(value, type):
        return _digits(asdict(value))
    if isinstance(value, dict):
        return {key: _digits(each) for key, each in value.items()}
    return f"{value:.9g}" if isinstance(value, float) else value


# Tables -----------------------------------------------------------------------------------------


def table(rows: int, classes: int = 2, seed: int = 1) -> tuple[Any, Any]:
    """Four columns; the label follows three of them, one by its square."""
    coins = np.random.default_rng(seed)
    X = coins.normal(size=(rows, 4))
    score = X[:, 0] + 0.7 * X[:, 1] + 0.5 * X[:, 2] ** 2 + 0.5 * coins.normal(size=rows)
    return X, np.searchsorted(np.quantile(score, np.arange(1, classes) / classes), score)


# Fits -------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Fit:
    """An estimator with what fit is given, as keywords of `fitted`."""

    make: Callable[..., Any]
    options: Mapping[str, Any]
    rows: int = 600
    known: int = 40
    classes: int = 2
    group: str = ""
    groups: int = 6
    newcomer: bool = False


CLASSIFIER = partial(Fit, PrivateClassifier)
BOOSTING = partial(Fit, PrivateBoosting)
EACH = {"epsilon": np.tile([2.0, 4.0, 8.0], 200)}
FITS: dict[str, Fit] = {
    **{
        f"classifier {features}": CLASSIFIER(
            {"features": features, "epsilon": 8.0}, rows=2000, known=60
        )
        for features in ("linear", "products", "waves", "leaves")
    },
    "classifier auto": CLASSIFIER({"epsilon": 6.0}, rows=4000, known=80),
    "classifier trees": CLASSIFIER({"features": "trees", "rounds": 3, "epsilon": 8.0}, rows=3000),
    "classifier private": CLASSIFIER({"combine": "private", "epsilon": 8.0}, rows=2000),
    "classifier three classes": CLASSIFIER({"epsilon": 8.0, "rounds": 2}, rows=3000, classes=3),
    "classifier nobody asked": CLASSIFIER({"epsilon": 0.1}),
    "classifier two servers": CLASSIFIER({"epsilon": 4.0, "trust": "two servers"}, rows=2000),
    "classifier two servers, wide": CLASSIFIER(
        {"epsilon": 4.0, "trust": "two servers"}, rows=2000, known=320
    ),
    "two servers boosting": BOOSTING({"epsilon": 4.0, "trust": "two servers", "rounds": 3}),
    "classifier owners": CLASSIFIER(
        {"epsilon": 8.0, "rows_per_owner": 4, "mechanism": "duchi", "features": "linear"},
        4000,
        60,
        group="owners",
        groups=1000,
    ),
    **{
        f"boosting {learner} {mechanism}": BOOSTING(
            {"learner": learner, "mechanism": mechanism, "rounds": 3, "epsilon": 4.0}
        )
        for learner in ("stump", "centroid", "logistic")
        for mechanism in ("auto", *MECHANISMS)
    },
    **{
        f"boosting {learner} judged by owners": BOOSTING(
            {
                "learner": learner,
                "error": "owners",
                "rounds": 3,
                "epsilon": 8.0,
                "error_epsilon": 4.0,
            }
        )
        for learner in ("stump", "centroid", "logistic")
    },
    "boosting three classes": BOOSTING({"rounds": 2, "epsilon": 8.0}, classes=3),
    "boosting own epsilons": BOOSTING({"learner": "centroid", "rounds": 2, **EACH}),
    "boosting set aside": BOOSTING({"learner": "centroid", "rounds": 2, "epsilon": 8.0}, known=0),
    "boosting owners": BOOSTING(
        {"learner": "centroid", "rounds": 2, "epsilon": 8.0}, group="owners", groups=150
    ),
    **{
        f"sites {privacy} {combine}": Fit(
            SiteEnsemble,
            {"privacy": privacy, "combine": combine, "epsilon": 2.0},
            1200,
            group="owners",
        )
        for privacy, combine in (
            ("objective", "guarded"),
            ("output", "feature"),
            ("objective", "average"),
        )
    },
    "sites without noise": Fit(SiteEnsemble, {"privacy": "none"}, group="owners"),
    "sites three classes": Fit(
        SiteEnsemble, {"epsilon": 4.0, "components": 3}, 1200, classes=3, group="owners"
    ),
    "sites logistic": Fit(
        SiteEnsemble, {"loss": "logistic", "ridge": 5.0}, 1200, known=0, group="owners"
    ),
    "numbers": Fit(SiteEnsembleRegressor, {"epsilon": 2.0}, 1200, classes=0, group="owners"),
    "numbers output": Fit(
        SiteEnsembleRegressor, {"epsilon": 2.0, "privacy": "output"}, 1200, 0, 0, "owners"
    ),
    **{
        f"peers {method}": Fit(
            PeerEnsemble,
            {"method": method, "rounds": 6, "bins": 4, "listen_to": "everybody"},
            group="owners",
            groups=3,
            newcomer=True,
        )
        for method in ("turns", "stumps", "trees")
    },
    "peers set aside": Fit(
        PeerEnsemble,
        {"rounds": 4, "epsilon": 4.0, "listen_to": "everybody"},
        known=0,
        group="owners",
        groups=3,
    ),
    **{
        f"alike peers {method}": Fit(
            PeerEnsemble,
            {"method": method, "rounds": 6, "bins": 6},
            group="owners",
            groups=4,
            newcomer=True,
        )
        for method in ("turns", "stumps", "trees")
    },
}


@contextmanager
def listening() -> Iterator[list[Any]]:
    """All that an engine in this process is asked meanwhile."""
    heard: list[Any] = []
    ask, tally = Inline.ask, Inline.tally

    def ask_and_note(engine: Inline, query: Any) -> Any:
        heard.append(query)
        return ask(engine, query)

    def tally_and_note(engine: Inline, question: Any) -> Any:
        heard.append(question)
        return tally(engine, question)

    with patch.object(Inline, "ask", ask_and_note), patch.object(Inline, "tally", tally_and_note):
        yield heard


@cache
def fitted(name: str) -> tuple[Any, tuple[Any, ...], Any]:
    """The model of a fit, what was asked on the way, and the rows that it knew."""
    about = FITS[name]
    X, y = table(about.rows + about.known, max(about.classes, 2))
    if not about.classes:
        y = X[:, 0] - 0.5 * X[:, 1] + 0.1 * X[:, 2] ** 2
    given: dict[str, Any] = {}
    if about.known:
        given["public"] = X[: about.known], y[: about.known]
    if about.group:
        given["owners"] = [f"number {row % about.groups:04d}" for row in range(about.rows)]
    with listening() as heard:
        model = about.make(random_state=SEED, **about.options).fit(
            X[about.known :], y[about.known :], **given
        )
        if about.newcomer:
            more, labels = table(200, seed=2)
            model.join(more, labels, name="newcomer").leave("number 0001")
    return model, tuple(heard), X


def saved(data: bytes) -> dict[str, bytes]:
    """The parts of a saved model, but for what may change."""
    version, (tag, *values) = msgpack.unpackb(data, strict_map_key=False)
    named = dict(zip((each.name for each in fields(SavedModel)), values, strict=True))
    kept = [value for name, value in named.items() if name not in APART | ALONE]
    return {"model": msgpack.packb([version, tag, kept])} | {
        name: msgpack.packb(named[name]) for name in sorted(ALONE)
    }


def fit_case(name: str) -> Bytes:
    """A saved model, the questions behind it, and what it says of some rows once read again."""
    model, heard, X = fitted(name)
    asked = [encode(each) for each in heard if isinstance(each, Query)]
    with TemporaryDirectory() as folder:
        path = Path(folder) / "model.tacit"
        model.save(path)
        data = path.read_bytes()
        guesses = np.asarray(load(path).predict(X[:200]))
    return saved(data) | {"questions": joined(asked), "guesses": digits(guesses.tolist()[:50])}


# Questions --------------------------------------------------------------------------------------

ASKED = {
    "linear": "classifier linear",
    "products": "classifier products",
    "waves": "classifier waves",
    "leaves": "classifier leaves",
    "trees": "classifier trees",
    "private": "classifier private",
    "stump": "boosting stump auto",
    "centroid": "boosting centroid auto",
    "logistic": "boosting logistic auto",
    "sites": "sites objective guarded",
    "numbers": "numbers output",
    "turns": "peers turns",
    "stumps": "peers stumps",
    "passed trees": "peers trees",
    "sum": "boosting centroid judged by owners",
}


def question_case(name: str) -> Bytes:
    """The last question of a fit: its bytes, its signed invitation, reports of four owners."""
    _, heard, X = fitted(ASKED[name])
    last = [each for each in heard if isinstance(each, Query) != (name == "sum")][-1]
    query = last if isinstance(last, Query) else SumQuery.of(last, X.shape[1], 1, 1, sum_terms())
    schema = Schema.of_public(X, np.arange(len(X)) % 2)
    invitation = Invitation("golden", 3, 2_000_000_000, digest_of(schema), query)
    rows = np.clip(X[:20], -1.0, 1.0)
    cohort = Cohort.of(rows, np.arange(20) % max(query.classes, 2), np.arange(20) // 5)
    level = len(query.epsilons) - 1
    said = query.release(cohort, query.epsilons[level], seeded(SEED))
    packed = [pack(invitation.digest, level, said[owner : owner + 1]) for owner in range(4)]
    assert encode(decode(encode(query), Query)) == encode(query)
    return {
        "query": encode(query),
        "invitation": sign(invitation, PURPOSE, KEY),
        "reports": joined(packed),
    }


# Mechanisms and sums ----------------------------------------------------------------------------


def mechanism_case(name: str) -> Bytes:
    """Reports of 64 owners with two values of epsilon, and their totals, over every space."""
    found = {}
    epsilon = np.tile([0.5, 3.0], 32)
    for where, space in SPACES.items():
        shares = space.clip(np.random.default_rng(3).normal(size=(64, space.dim)))
        mechanism = MECHANISMS[name].over(space, epsilon, np.array([0.5, 3.0]))
        said = mechanism.randomize(shares, seeded(SEED).child("golden", where))
        totals = mechanism.totals(said)
        found[where] = joined([said.points.tobytes(), said.indices.tobytes()])
        found[f"{where} totals"] = f"{totals.sums.tolist()} {totals.squares.tolist()}".encode()
    return found


def sum_case() -> Bytes:
    """A sum in one process, sealed halves, the sum of two servers that open them, and noise."""
    terms = np.random.default_rng(4).random((40, 2))
    inside = TwoServers(epsilon=1.0).total(terms, seeded(SEED))
    halves = reports(terms[:12], stream=seeded(SEED))
    between = added_up(halves, noise=seeded(SEED))
    return {
        "one process": inside.sums.tobytes() + inside.stderr.tobytes(),
        "halves": joined(reports(terms, batch(), seeded(SEED))),
        "two servers": between.sums.tobytes() + between.stderr.tobytes(),
        "noise": two_sided_geometric(50, 1000, seeded(SEED)).tobytes(),
    }


def choice_case() -> Bytes:
    """Which mechanism for which space, and why."""
    found = [choose(space, epsilon) for space in SPACES.values() for epsilon in (0.5, 4.0)]
    return {"choices": digits({each.why: each.risks for each in found})}


def plan_case() -> Bytes:
    """What to expect of few and of many owners."""
    X, y = table(120)
    plans = [plan(X, y, owners=owners, epsilon=1.0) for owners in (1000, 1_000_000)]
    found = [asdict(each) for each in plans]
    measured = [each.pop("public_measures") for each in found]
    said = {figure["name"]: figure for figure in measured[0]["figures"]}
    return {f"{each['owners']}": digits(each) for each in found} | {"public rows": digits(said)}


# Campaigns and commands -------------------------------------------------------------------------


@dataclass(frozen=True)
class Campaign:
    """A rehearsal: the campaign's file, owners, rows of each and of the data user, owners'
    limits.
    """

    text: str
    owners: int
    each: int = 8
    known: int = 60
    label: str = "ill"
    limits: Mapping[str, Any] = field(default_factory=dict)


RECORDS = {"epsilon_per_release": 2, "epsilon_total": 2, "units": ("record",)}
MANY = {"epsilon_total": 100, "releases": 20}
ALL_KINDS = 'name = "trial"\nsample = "mine.csv"\ndeadline = 300\n'
BOOSTED = 'kind = "boosting"\nlearner = "centroid"\nrounds = 2\nminimum = 4\n'
HELPED = (
    'helper = "https://helper.invalid"\nerror = "owners"\nerror_epsilon = 2.5\nerror_minimum = 10\n'
)
REFINED = 'kind = "classifier"\nowners = 40\nrows_per_owner = 8\nrounds = 2\nminimum = 4\n'
EVERYBODY = 'listen_to = "everybody"\n'
CAMPAIGNS = {
    "boosting": Campaign(f"{BOOSTED}epsilon = [4.0, 8.0]\nowners_per_round = 10\nstart = 24\n", 24),
    "boosting with sums": Campaign(
        f'{BOOSTED}{HELPED}helper_key = "{sum_terms().helper.hex()}"\nepsilon = '
        "8.0\nowners_per_round = 5\n"
        "attempts = 2\nstart = 12\n",
        12,
        limits=MANY,
    ),
    "classifier": Campaign(f"{REFINED}epsilon = [4.0, 8.0]\nstart = 40\n", 40, known=30),
    "sites": Campaign(
        'kind = "sites"\nepsilon = [1.0, 2.0]\nstart = 3\nminimum = 2\n',
        3,
        200,
        limits={**RECORDS, "learners": ("site",)},
    ),
    "sites numbers": Campaign(
        'kind = "sites"\ntarget = "numbers"\ncombine = "feature"\nepsilon = 2.0\nstart = 3\n',
        3,
        200,
        label="a",
        limits={**RECORDS, "learners": ("site",)},
    ),
    **{
        kind: Campaign(
            f'kind = "{kind}"\nepsilon = 2.0\nrounds = 2\nstart = 3\n{EVERYBODY}',
            3,
            200,
            limits={**RECORDS, "learners": (learner,), "releases": 2},
        )
        for kind, learner in (("stumps", "leaves"), ("trees", "tree"))
    },
    "peers": Campaign(
        f'kind = "peers"\nepsilon = 2.0\nrounds = 4\nstart = 3\n{EVERYBODY}',
        3,
        200,
        limits={**RECORDS, "learners": ("leaves",), "releases": 2},
    ),
    "alike peers": Campaign(
        'kind = "peers"\nepsilon = 2.0\nrounds = 4\nstart = 3\n',
        3,
        200,
        limits={**RECORDS, "learners": ("leaves", "contrasts"), "releases": 6},
    ),
}


def campaign_case(name: str, folder: Path) -> Bytes:
    """A rehearsal over HTTP, in this process: terms, questions and the published model."""
    about = CAMPAIGNS[name]
    tokens = [f"token number {number:04d}" for number in range(about.owners)]
    mine = [
        {k: v for k, v in row.items() if k != "who"}
        for row in campaigns.rows(about.known, 1, seed=1)
    ]
    campaigns.write(folder / "mine.csv", mine)
    campaigns.write(folder / "people.csv", campaigns.rows(about.owners, about.each, seed=2))
    path = folder / "campaign.toml"
    path.write_text(f'label = "{about.label}"\n{ALL_KINDS}{about.text}')
    known = [public_bytes(KEY.public_key()).hex()]
    helper = Helper(rehearsal_key(), Sheets(folder / "released.db"), known, noise=seeded(SEED))
    database = f"sqlite:///{folder}/c.db"
    service = coordinator(path, database, KEY, campaigns.ADMIN, SEED, helper=client_of(helper))
    service.store.add_tokens(tokens)

    async def work(link: Any) -> tuple[bytes, bytes]:
        greeting = await link.call("GET", "/v1/campaign", None)
        mine = campaigns.joining(folder, RehearsalPart(SEED), **about.limits)
        await join(replace(mine, label=about.label), link, tokens)
        while (model := await link.call("GET", "/v1/model", None)).status_code == 404:
            await asyncio.sleep(0.02)
        return greeting.content, open_model(model.content, public_bytes(KEY.public_key()))[0]

    with patch.object(member, "_pause", lambda response, coin: 0.02):
        greeting, model = campaigns.driven(service, work)
    asked = [
        open_signed(each.data, Invitation, PURPOSE, KEY.public_key())
        for each in service.store.questions()
    ]
    service.store.close()
    parts = saved(model)
    return {
        "greeting": greeting,
        "questions": joined([encode(replace(each, expires=0)) for each in asked]),
        "model": parts["model"],
        "report": parts["report"],
    }


def in_a_folder(case: Callable[[str, Path], Bytes], name: str) -> Bytes:
    """A case that needs an empty folder."""
    with TemporaryDirectory() as folder:
        return case(name, Path(folder))


COMMANDS = {
    "classifier": ["people.csv", "--public-rows", "40", "--rounds", "2"],
    "boosting": ["people.parquet", "--public", "mine.csv", "--owners", "family", "--rounds", "3"],
    "sites": ["people.csv", "--public-rows", "100", "--owners", "town"],
    "peers": [
        *("people.parquet", "--public", "mine.csv", "--owners", "town", "--rounds", "4"),
        *("--listen-to", "everybody"),
    ],
}


def command_case(method: str, folder: Path) -> Bytes:
    """`tacit fit` on files: the saved model."""
    family_files(folder, owners_rows=2000)
    words = [str(folder / word) if "." in word else word for word in COMMANDS[method]]
    out = str(folder / "model.tacit")
    flags = [
        "--label",
        "rich",
        "--method",
        method,
        "--epsilon",
        "8",
        "--seed",
        str(SEED),
        "--out",
        out,
    ]
    result = CliRunner().invoke(
        app, ["fit", *words, *flags, "--leave-out", "name"], catch_exceptions=False
    )
    assert result.exit_code == 0, result.output
    return saved(Path(out).read_bytes())


CASES: dict[str, Callable[[], Bytes]] = {
    **{f"fit {name}": partial(fit_case, name) for name in FITS},
    **{f"question {name}": partial(question_case, name) for name in ASKED},
    **{f"mechanism {name}": partial(mechanism_case, name) for name in MECHANISMS},
    "sums": sum_case,
    "choices": choice_case,
    "plans": plan_case,
    **{f"campaign {name}": partial(in_a_folder, campaign_case, name) for name in CAMPAIGNS},
    **{f"command {method}": partial(in_a_folder, command_case, method) for method in COMMANDS},
}
