"""Test vectors of the wire, made by the code: what docs/reference/wire-vectors.json holds.

Each section is a list of cases. What a case gives and what it expects is said in
docs/reference/wire.md; numbers with a point are the hexadecimal digits of their eight bytes,
little-endian. Nothing here is fitted: all of it follows from seeds on every machine.
"""

from dataclasses import replace
from hashlib import blake2b, sha256

import numpy as np
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from tacit._util.kernels import exponential, turn
from tacit.data.schema import Category, Number, Schema
from tacit.learners.learner import Facts, ReportTerms, ShareQuery
from tacit.learners.models.ensemble import Ensemble
from tacit.learners.models.features import FeatureMap, Joined, Products, Rows, Waves
from tacit.learners.models.scores import (
    Forest,
    Leaves,
    Linear,
    Mapped,
    ModelScores,
    ScoreModel,
    Trees,
    contrasts,
)
from tacit.learners.owners.gradient import Gradient
from tacit.learners.query import PURPOSE, Invitation, digest_of, pack
from tacit.mechanisms.privunit import PrivUnit
from tacit.mechanisms.spaces import Ball
from tacit.mechanisms.streams import odds, seeded
from tacit.owner.template import sizes_of
from tacit.service.kinds.classifier import ClassifierTerms, PublicMaps
from tacit.service.protocol.handshake import Request, greeting
from tacit.service.protocol.succession import CAMPAIGN, Successions
from tacit.wire import encode
from tacit.wire.envelopes import preimage, public_bytes, sign
from tests.vectors.checks import cohort_of, hexed, report_of, share_of
from tests.vectors.sums import make_sums

SEED = 20
SECRET, OTHER, THIRD = bytes(range(32)), bytes(range(1, 33)), bytes(range(2, 34))
KEY = Ed25519PrivateKey.from_private_bytes(SECRET)


def make():
    """All sections."""
    return {
        "blake2b": _hashes(),
        "messages": _messages(),
        "signatures": _signatures(),
        "requests": _requests(),
        "greetings": _greetings(),
        "questions": _questions(),
        "numbers": _numbers(),
        "odds": _odds(),
        "caps": _caps(),
        "rows": _rows(),
        "shares": _shares(),
        "tapes": _tapes(),
        "draws": _draws(),
        "other_draws": _other_draws(),
        "sums": make_sums(query_of(Rows(), np.random.default_rng(SEED))),
    }


def _hashes():
    cases = []
    for size in (0, 1, 127, 128, 129, 1000):
        data = bytes(i % 251 for i in range(size))
        cases.append({"data": data.hex(), "person": "", "digest": _blake2b(data, b"").hex()})
    data = b"a path"
    named = _blake2b(data, b"tacit.streams")
    return [*cases, {"data": data.hex(), "person": b"tacit.streams".hex(), "digest": named.hex()}]


def _blake2b(data, person):
    return blake2b(data, digest_size=32, person=person).digest()


SCHEMA = Schema(
    (
        Number("age", 18.0, 90.0),
        Category("place", ("north", "south")),
        Category("work", ("a", "b", "c")),
        Number("pulse", -1.5, 2.5),
    ),
    ("no", "yes", "maybe"),
)
TERMS = ReportTerms("privunit", (0.5, 1.0, 4.0))


def _trees():
    return Trees(
        column=np.array([0, -1, 5, -1, -1, 3, -1, -1]),
        cut=np.array([0.1, 0.0, -0.2, 0.0, 0.0, 0.0, 0.0, 0.0]),
        left=np.array([1, 0, 3, 0, 0, 6, 0, 0]),
        right=np.array([2, 0, 4, 0, 0, 7, 0, 0]),
        value=np.array([0.0, 0.25, 0.0, -0.5, 0.125, 0.0, 0.75, -1.0 / 3]),
        roots=np.array([0, 5]),
        classes=np.array([1, 2]),
    )


def _expansions(rng, dim, classes):
    """One of every kind."""
    trees = _trees()
    linear = Linear(rng.normal(size=(dim, classes)), rng.normal(size=classes))
    waves = Waves(rng.normal(size=dim), 2 * rng.normal(size=(dim, 4)))
    flat = FeatureMap(waves, rng.normal(size=8), rng.normal(size=8), 0.5)
    turned = FeatureMap(Rows(), rng.normal(size=dim), rng.normal(size=(dim, 3)), 0.5)
    terms = (
        linear,
        Forest(trees, rng.normal(size=classes), 0.75),
        Mapped(flat, rng.normal(size=(9, classes))),
        Mapped(turned, rng.normal(size=(4, classes))),
    )
    return {
        "rows": Rows(),
        "products": Products(rng.normal(size=dim), rng.normal(size=(dim, 3)), 1.5),
        "waves": waves,
        "leaves": Leaves(trees),
        "model": ModelScores(ScoreModel(classes, terms)),
    }


def query_of(expansion, rng, *, terms=TERMS, diagonal=True, radius=0.8):
    """A question about a made-up model over some features."""
    dim, classes = SCHEMA.dim, len(SCHEMA.classes)
    width = expansion.width(dim)
    features = width if diagonal else width + 1
    matrix = rng.normal(size=width if diagonal else (width, features)) / 2
    gradient = Gradient(
        FeatureMap(expansion, rng.normal(size=width) / 4, matrix, 0.625),
        rng.normal(size=(1 + features, classes)),
        reach=1.25,
        radius=radius,
    )
    return ShareQuery(
        1, 1, 12, gradient, Facts(dim, classes), Ensemble(classes), ReportTerms(*_parts(terms))
    )


def _parts(terms):
    return terms.mechanism, terms.epsilons


def campaign(rng=None):
    """Terms of a campaign whose questions are made of three kinds of features."""
    rng = rng or np.random.default_rng(SEED)
    dim, classes = SCHEMA.dim, len(SCHEMA.classes)
    kinds = _expansions(rng, dim, classes)
    groups = kinds["rows"], kinds["products"], kinds["leaves"]
    query = query_of(Joined(groups), rng)
    features, width = query.learner.features, len(query.learner.features.centre)
    maps = PublicMaps(
        expansions=tuple(digest_of(each) for each in groups),
        bytes=sum(len(encode(each)) for each in groups),
        width=width,
        features=1 + width,
        centre=float(np.abs(features.centre).max()),
        matrix=float(np.abs(features.matrix).max()),
        reach=8.0,
    )
    return ClassifierTerms(
        name="trial",
        schema=SCHEMA,
        label="ill",
        start=24,
        minimum=4,
        deadline=300.0,
        sample=bytes(32),
        query=query,
        owners=24,
        rows=2,
        rounds=2,
        features=("linear", "waves"),
        maps=maps,
    )


def _messages():
    """Bytes, what they are, and whether they may be read."""
    terms = campaign()
    good = {
        "schema": encode(SCHEMA),
        "campaign.classifier": encode(terms),
        "template": encode(terms.template()),
        "share": encode(terms.query),
        "successions": encode(Successions()),
    }
    schema = good["schema"]
    bad = {
        "another version": b"\x92\x02" + schema[2:],
        "bytes left over": schema + b"\xc0",
        "cut off": schema[:-1],
        "a text with a longer header": schema[:3] + b"\xd9\x06" + schema[4:],
        "a map": schema[:3] + b"\x80",
        "an unknown tag": schema.replace(b"\xa6schema", b"\xa6schemb"),
        "a field too many": b"\x92\x01\x94" + schema[3:] + b"\xc0",
        "a number for a number with a point": _swap(schema, 18.0, b"\x12"),
        "low above high": _swap(schema, 18.0, b"\xcb" + _big(91.0)),
        "no number": _swap(schema, 18.0, b"\xcb\x7f\xf8" + bytes(6)),
        "infinite": _swap(schema, 18.0, b"\xcb\x7f\xf0" + bytes(6)),
        "a text that is no UTF-8": schema.replace(b"\xa3age", b"\xa3a\xff\xfe"),
        "the same class twice": schema.replace(b"\xa5maybe", b"\xa3yes"),
    }
    deep = b"\x92\x01" + b"\x91" * 40 + b"\xc0"
    told = [{"kind": kind, "bytes": data.hex(), "is": "read"} for kind, data in good.items()]
    for case, data in zip(told, good.values(), strict=True):
        case["digest"] = _blake2b(data, b"").hex()
    refused = [
        {"kind": "schema", "bytes": data.hex(), "is": "refused", "why": why}
        for why, data in {**bad, "too deep": deep}.items()
    ]
    share = good["share"]
    at = share.index(b"\xc7\x05\x01\x01")  # the empty array of the facts
    refused.append(
        {
            "kind": "share",
            "bytes": (share[:at] + b"\xc7\x05\x01\x01\x01" + share[at + 5 :]).hex(),
            "is": "refused",
            "why": "an array of another length than its shape says",
        }
    )
    return told + refused


def _big(value):
    return np.array([value], dtype=">f8").tobytes()


def _swap(data, value, other):
    return data.replace(b"\xcb" + _big(value), other, 1)


def _signatures():
    body = encode(SCHEMA)
    signed = sign(SCHEMA, "template", KEY)
    case = {"key": public_bytes(KEY.public_key()).hex(), "purpose": "template"}
    flipped = bytes([signed[0] ^ 1]) + signed[1:]
    return [
        case | {"signed": signed.hex(), "preimage": preimage("template", body).hex(), "is": "read"},
        case | {"signed": signed.hex(), "purpose": "campaign", "is": "refused"},
        case | {"signed": flipped.hex(), "is": "refused"},
        case | {"signed": (signed[:-1] + b"\x00").hex(), "is": "refused"},
        case | {"signed": signed[:64].hex(), "is": "refused"},
    ]


def _requests():
    cases = []
    for method, path, body in (
        ("GET", "/v1/question", b""),
        ("POST", "/v1/enrol", b"a token"),
        ("POST", "/v1/report", bytes(range(16))),
    ):
        request = Request(public_bytes(KEY.public_key()), method, path, 1_790_000_000, body)
        owner = Ed25519PrivateKey.from_private_bytes(OTHER)
        cases.append(
            {
                "campaign": request.campaign.hex(),
                "method": method,
                "path": path,
                "time": request.time,
                "body": body.hex(),
                "secret": OTHER.hex(),
                "owner": public_bytes(owner.public_key()).hex(),
                "hash": sha256(body).hexdigest(),
                "preimage": request.preimage.hex(),
                "signature": owner.sign(request.preimage).hex(),
            }
        )
    return cases


def _greetings():
    terms = campaign()
    template = terms.template()
    first, second = public_bytes(KEY.public_key()), public_bytes(_key(OTHER).public_key())
    plain = greeting(terms, template, KEY)
    said = Successions((CAMPAIGN.state(SECRET, OTHER),))
    moved = greeting(terms, template, _key(OTHER), said)
    forged = Successions((CAMPAIGN.state(THIRD, OTHER),))
    statement = said.campaign[0]
    unsigned = Successions((statement[:64] + bytes(64) + statement[128:],))
    case = {"first": first.hex(), "campaign": terms.name}
    refused = [
        (plain, second, "another key is pinned"),
        (second + plain[32:], None, "signed by another key"),
        (plain[:100], None, "cut off"),
        (greeting(terms, template, _key(OTHER), forged), first, "a line from another key"),
        (greeting(terms, template, _key(OTHER), unsigned), first, "a key that did not agree"),
        (greeting(terms, template, _key(THIRD), said), first, "a line that leads elsewhere"),
    ]
    return [
        case | {"bytes": plain.hex(), "pinned": "", "key": first.hex(), "is": "read"},
        case | {"bytes": plain.hex(), "pinned": first.hex(), "key": first.hex(), "is": "read"},
        case | {"bytes": moved.hex(), "pinned": first.hex(), "key": second.hex(), "is": "read"},
        *(
            {
                "bytes": data.hex(),
                "pinned": "" if pin is None else pin.hex(),
                "is": "refused",
                "why": why,
            }
            for data, pin, why in refused
        ),
    ]


def _key(secret):
    return Ed25519PrivateKey.from_private_bytes(secret)


def _questions():
    """Signed questions to the campaign of the first greeting, and whether they are within it."""
    terms = campaign()
    query, learner = terms.query, terms.query.learner
    features = learner.features
    parts = features.expansion.parts
    fewer = Joined(parts[:2])
    width = fewer.width(SCHEMA.dim)
    small = replace(
        learner,
        features=FeatureMap(fewer, features.centre[:width], features.matrix[:width], 0.5),
        weights=learner.weights[: 1 + width],
    )
    other = Products(parts[1].centre, parts[1].axes, 1.25)
    foreign = replace(features, expansion=Joined((parts[0], other, *parts[2:])))
    forms = {
        "as agreed": query,
        "a later round": replace(query, round=2, attempt=3, owners=11),
        "fewer features": replace(query, round=2, learner=small),
        "another model": replace(query, learner=replace(learner, weights=-learner.weights)),
    }
    far = learner.weights.copy()
    far[0, 0] = 1e7
    bad = {
        "a round too many": replace(query, round=3),
        "a larger epsilon": replace(query, terms=ReportTerms("privunit", (0.5, 1.0, 5.0))),
        "another mechanism": replace(query, terms=ReportTerms("piecewise", TERMS.epsilons)),
        "features that were not named": replace(query, learner=replace(learner, features=foreign)),
        "a weight too large": replace(query, learner=replace(learner, weights=far)),
        "a row that reaches too far": replace(query, learner=replace(learner, reach=8.5)),
        "values that were none": replace(
            query, facts=Facts(SCHEMA.dim, len(SCHEMA.classes), np.zeros(1))
        ),
    }

    def case(asked, is_within, why, **changes):
        given = {
            "campaign": terms.name,
            "number": 1,
            "expires": 1_790_000_300,
            "schema": digest_of(SCHEMA),
            "query": asked,
        }
        invitation = Invitation(**given | changes)
        return {
            "why": why,
            "bytes": sign(invitation, PURPOSE, KEY).hex(),
            "digest": invitation.digest.hex(),
            "sizes": sizes_of(asked),
            "is": "within" if is_within else "outside",
        }

    return [
        *(case(asked, True, why) for why, asked in forms.items()),
        *(case(asked, False, why) for why, asked in bad.items()),
        case(query, False, "another campaign", campaign="trials"),
        case(query, False, "another schema", schema=bytes(32)),
    ]


def _numbers():
    rng = np.random.default_rng(SEED)
    lows = [0.0, -0.0, -1e-300, -708.0, -708.5, 709.0, 710.0, 1.0, -0.34657359, np.nan]
    raised = np.concatenate([lows, rng.uniform(-700, 0, 20), 3 * rng.normal(size=20)])
    some = [0.0, -0.0, 1e6, -1e6, 1e7, np.inf, np.pi / 4, -np.pi / 4, 1.5707963267948966]
    angles = np.concatenate([some, rng.uniform(-1e6, 1e6, 20), 5 * rng.normal(size=20)])
    turned = [turn(float(each)) for each in angles]
    return [
        ["exponential", hexed(raised), hexed([exponential(float(each)) for each in raised])],
        ["turn", hexed(angles), hexed([c for c, _ in turned]), hexed([s for _, s in turned])],
        *(["contrasts", k, hexed(contrasts(k).ravel())] for k in (2, 3, 10)),
    ]


def _odds():
    cases = []
    for epsilon, base in ((0.1, 1 << 32), (1.0, 1 << 32), (4.0, 1 << 20), (20.0, 1 << 20)):
        cases.append([epsilon, base, str(odds(epsilon, base).high)])
    return cases


def _caps():
    cases = []
    for dim in (1, 2, 7, 20, 101, 480, 2001):
        for epsilon in (0.1, 1.0, 4.0, 8.0, 20.0):
            (cap,) = PrivUnit(epsilon=epsilon, space=Ball(dim=dim)).laws
            cases.append([dim, epsilon, cap.candidates, cap.favoured])
    return cases


_RECORDS = (
    ("18", "north", "a", "2.5", "no"),
    ("90", "south", "b", "-1.5", "yes"),
    ("41.3", "south", "c", "0.1", "maybe"),
    ("", "elsewhere", "", "1e300", "no"),
    ("200", "north", "b", "-7", "yes"),
    ("33", "north", "a", "0", "unknown"),
)


def _rows():
    names = [feature.name for feature in SCHEMA.features]
    records = [dict(zip([*names, "ill"], record, strict=True)) for record in _RECORDS]
    cohort = cohort_of(SCHEMA, records, "ill")
    return [
        {
            "schema": encode(SCHEMA).hex(),
            "label": "ill",
            "records": records,
            "rows": [hexed(row) for row in cohort.X],
            "labels": cohort.y.tolist(),
        }
    ]


def _shares():
    rng = np.random.default_rng(SEED)
    dim, classes = SCHEMA.dim, len(SCHEMA.classes)
    kinds = _expansions(rng, dim, classes)
    asked = [query_of(each, rng, diagonal=name != "model") for name, each in kinds.items()]
    asked.append(query_of(Joined(tuple(kinds.values())), rng))
    asked.append(query_of(kinds["rows"], rng, radius=0.05))  # which shortens
    cases = []
    for place, query in enumerate(asked):
        n = place % 4  # none, too
        rows, labels = rng.uniform(-1, 1, size=(n, dim)), rng.integers(classes, size=n)
        cases.append(
            {
                "query": encode(query).hex(),
                "rows": [hexed(row) for row in rows],
                "labels": labels.tolist(),
                "share": hexed(share_of(query, rows, labels)),
            }
        )
    return cases


def _tapes():
    cases = []
    for seed, owner, round_, attempt in ((0, 0, 1, 1), (7, 41, 2, 3), (123456789, 99, 1, 1)):
        stream = seeded(seed).of(np.array([owner])).child("round", round_, attempt)
        words = stream.words(np.array([0]), 0, 5)[0]
        cases.append(
            {
                "seed": seed,
                "owner": owner,
                "round": round_,
                "attempt": attempt,
                "words": [f"{int(word):016x}" for word in words],
            }
        )
    return cases


def _draws():
    rng = np.random.default_rng(SEED)
    cases = []
    menus = {"privunit": ((1.0,), (0.1, 4.0, 8.0)), "piecewise": ((1.0,), (0.5, 6.0, 12.0))}
    for mechanism, offered in menus.items():
        for epsilons in offered:
            for dim in (1, 7, 60) if len(epsilons) > 1 else (1, 60, 300):
                for level in range(len(epsilons)):
                    share = rng.uniform(0, 1.5) * rng.normal(size=dim) / dim**0.5
                    share = np.zeros(dim) if level == 1 and dim == 7 else share
                    words = rng.integers(1 << 63, size=28, dtype=np.uint64) * 2 + 1
                    if dim == 60:  # words that are rejected: the draw reads on
                        words[:4] = 0
                    cases.append(_draw(mechanism, epsilons, level, share, words))
    return cases


def _other_draws():
    rng = np.random.default_rng(SEED)
    cases = []
    lengths = {"duchi": 76, "hybrid": 12, "laplace": 124, "randomized_response": 6}
    for mechanism, length in lengths.items():
        for dim, level in ((1, 0), (6, 1), (6, 2), (70, 0) if mechanism != "laplace" else (9, 0)):
            share = rng.uniform(0, 1.5) * rng.normal(size=dim) / dim**0.5
            words = rng.integers(1 << 63, size=length, dtype=np.uint64) * 2 + 1
            words[1] = 0 if dim == 6 else words[1]
            cases.append(_draw(mechanism, (0.5, 4.0, 6.0), level, share, words))
    return cases


def _draw(mechanism, epsilons, level, share, words):
    radius = 0.875
    space = Ball(dim=len(share), radius=radius)
    reports = report_of(mechanism, epsilons, level, space, share, words)
    return {
        "mechanism": mechanism,
        "epsilons": list(epsilons),
        "level": level,
        "radius": radius,
        "share": hexed(share),
        "tape": [f"{int(word):016x}" for word in words],
        "report": pack(bytes(6), level, reports)[8:].hex(),
    }
