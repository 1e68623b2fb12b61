"""A learner and a mechanism of other packages, as the guides write them: fitted by name, saved,
loaded in processes with and without them, asked through the wire, audited, refused.
"""

import re
import subprocess
import sys
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
from sklearn.datasets import make_classification

import tacit
from tacit.audit.gate import find_dependence, own_cases
from tacit.audit.mechanisms import audit_mechanisms
from tacit.audit.staging import FIRST_ROUND, invite, share_query
from tacit.learners.owners import learner_of
from tacit.learners.query import Invitation
from tacit.mechanisms.registry import MECHANISMS, mechanism_by_name
from tacit.owner.policy import Policy
from tacit.owner.template import QuestionForm, Template, bounds_of
from tacit.wire import MissingError, WireError, codec, decode, encode, message

ROOT = Path(__file__).parent.parent.parent
X, Y = make_classification(6000, 3, n_informative=3, n_redundant=0, class_sep=2.0, random_state=1)
ONE: dict[str, Any] = {"epsilon_per_release": Fraction(1), "epsilon_total": Fraction(1)}
_READER = """
import sys
import numpy as np
import tacit
from tacit.wire import codec
try:
    tacit.load(sys.argv[1])
except ValueError as problem:
    print(problem)
sys.path.append(sys.argv[3])
codec.load_plugins.cache_clear()
print(tacit.load(sys.argv[1]).predict(np.load(sys.argv[2])).sum())
"""
_CODE = re.compile(r"^```python\n(.*?)^```", flags=re.S | re.M)


@pytest.fixture(scope="module")
def outside(tmp_path_factory):
    """Two installed packages: their code is that of the guide and of the example."""
    folder = tmp_path_factory.mktemp("outside")
    guide = (ROOT / "docs" / "how-to" / "writing-a-mechanism.md").read_text()
    (folder / "one_sign.py").write_text(_CODE.findall(guide)[0])
    example = (ROOT / "examples" / "own_learner.py").read_text()
    (folder / "own_learner.py").write_text(example.partition("if __name__")[0])
    info = folder / "own-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: own\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(
        "[tacit.plugins]\none_sign = one_sign\nown_learner = own_learner\n"
    )
    return folder


@pytest.fixture(autouse=True)
def installed(outside, monkeypatch, nobody_registered):
    """As in a process in which the packages are installed; afterwards nobody knows them."""
    monkeypatch.syspath_prepend(str(outside))
    yield
    for name in ("one_sign", "own_learner"):
        sys.modules.pop(name, None)


def fitted():
    model = tacit.PrivateBoosting(
        "naive bayes", mechanism="one sign", epsilon=4.0, rounds=2, random_state=1
    )
    return model.fit(X[2000:], Y[2000:], public=(X[:500], Y[:500]))


def test_both_are_fitted_by_name_saved_and_loaded_in_a_fresh_process(tmp_path, outside):
    model = fitted()
    assert model.score(X[500:2000], Y[500:2000]) > 0.75
    assert "one_sign:OneSign" in str(model.guarantee_)
    path = tmp_path / "model.tacit"
    model.save(path)
    np.save(tmp_path / "rows.npy", X[:50])
    done = subprocess.run(
        [sys.executable, "-c", _READER, str(path), str(tmp_path / "rows.npy"), str(outside)],
        capture_output=True,
        text=True,
        check=True,
    )
    without, installed_now = done.stdout.splitlines()
    assert (
        "own_learner:BayesModel is not registered here: install and import own_learner" in without
    )
    assert installed_now == str(model.predict(X[:50]).sum())


def test_a_question_is_read_where_they_are_installed_and_names_what_is_missing_elsewhere(
    monkeypatch,
):
    query = share_query(learner_of("naive bayes"), "one_sign:OneSign", [1.0], FIRST_ROUND)
    asked = encode(invite(query))
    read: Any = decode(asked, Invitation).query
    assert type(read.learner).__name__ == "Bayes"
    form = QuestionForm(query, (), bounds_of(query), 1, 1.0)
    template = Template("c", bytes(32), ("x0",), "y", "nobody", (form,))
    assert "  not of tacit, runs if you installed it: one_sign:OneSign, own_learner:Bayes" in (
        line for line in template.lines()
    )
    with monkeypatch.context() as elsewhere:
        elsewhere.delitem(codec._class_of, "own_learner:Bayes")
        with pytest.raises(MissingError, match="own_learner:Bayes is not registered here"):
            decode(asked, Invitation)
    with monkeypatch.context() as elsewhere:
        elsewhere.delitem(MECHANISMS, "one_sign:OneSign")
        with pytest.raises(MissingError, match="install and import one_sign"):
            decode(asked, Invitation)


def test_no_message_makes_a_device_import_what_is_installed():
    """Only a name that was written here does; what is asked for from outside is refused."""
    ours = encode(invite(share_query(learner_of("stump"), "duchi", [1.0], FIRST_ROUND)))
    for tag, theirs in (
        (b"\xa5stump", b"\xb1own_learner:Bayes"),
        (b"\xa5duchi", b"\xaeone_sign:Other"),
    ):
        assert ours.count(tag) == 1
        with pytest.raises(MissingError, match="is not registered here: install and import"):
            decode(ours.replace(tag, theirs), Invitation)
    assert not {"own_learner", "one_sign"} & set(sys.modules)


def test_a_name_that_is_not_plain_letters_is_not_quoted():
    stranger = encode(invite(share_query(learner_of("stump"), "duchi", [1.0], FIRST_ROUND)))
    assert stranger.count(b"\xa5stump") == 1
    with pytest.raises(WireError, match="a field must be a known Learner"):
        decode(stranger.replace(b"\xa5stump", b"\xa5\x1b[:ab"), Invitation)


def test_policies_name_them_in_full():
    Policy(**ONE, mechanisms=("one_sign:OneSign",))
    with pytest.raises(MissingError, match="nowhere:Nothing is not registered"):
        Policy(**ONE, mechanisms=("nowhere:Nothing",))
    with pytest.raises(ValueError, match="mechanisms must be among"):
        Policy(**ONE, mechanisms=("one sign",))


def test_they_are_audited(monkeypatch):
    monkeypatch.setattr("tacit.audit.mechanisms.PRIVATE", ())  # ours have tests of their own
    mechanism_by_name("one sign")
    rows = [
        row
        for row in audit_mechanisms([1.0], [1, 4], 10_000, tacit.seeded(1))
        if row.mechanism == "OneSign"
    ]
    assert [row.dim for row in rows] == [1, 4]
    assert all(row.sound and 0.99 < row.spent <= 1 for row in rows)
    (case,) = own_cases()
    assert case.learner.name == "naive bayes"
    assert not list(find_dependence(case.queries[0]))


def test_a_share_that_depends_on_others_is_found():
    kind: Any = type(learner_of("naive bayes"))

    class Leaning(kind):  # type: ignore[misc]
        def share(self, query, cohort):
            shares = super().share(query, cohort)
            return shares - shares.mean(axis=0)

    query = share_query(learner_of("naive bayes"), "duchi", [1.0], FIRST_ROUND)
    assert list(find_dependence(replace(query, learner=Leaning())))


def test_what_is_refused():
    mechanism_by_name("one sign")
    sound: Any = MECHANISMS["one_sign:OneSign"]

    class Steep(sound):  # type: ignore[misc]
        """Claim: epsilon, which is not so."""

        name: ClassVar[str] = "steep"

        @property
        def laws(self):
            return [replace(law, high=law.high + 1) for law in super().laws]

    class Impossible(Steep):
        """Claim: none that holds."""

        @property
        def laws(self):
            return [replace(law, low=0) for law in super().laws]

    class Silent(sound):  # type: ignore[misc]
        name: ClassVar[str] = "silent"

    class Named(sound):  # type: ignore[misc]
        """Claim: as ours."""

        name: ClassVar[str] = "duchi"

    class Namesake(sound):  # type: ignore[misc]
        """Claim: as the other."""

    for kind, reason in (
        (Steep, "at epsilon 0.5: two inputs give one output with probabilities in ratio"),
        (Impossible, "impossible for some input"),
        (Silent, "docstring must say 'Claim:'"),
        (Named, "no name of ours, got 'duchi'"),
        (Namesake, "the name 'one sign' is taken by one_sign:OneSign"),
    ):
        with pytest.raises(ValueError, match=reason):
            tacit.register(kind)
    with pytest.raises(TypeError, match="Learner or Mechanism"):
        tacit.register(dict)  # type: ignore[type-var]
    with pytest.raises(ValueError, match="package other than tacit"):
        tacit.register(tacit.Duchi)
    with pytest.raises(ValueError, match="colon"):
        message("own:tag")(sound)
    assert {name for name in MECHANISMS if ":" in name} == {"one_sign:OneSign"}


def test_learners_are_refused_that_cannot_be_asked_for_by_name():
    kind: Any = type(learner_of("naive bayes"))

    @dataclass(frozen=True)
    class Needy(kind):  # type: ignore[misc]
        name: ClassVar[str] = "needy"
        bound: float

    class Unsound(kind):  # type: ignore[misc]
        name: ClassVar[str] = "unsound"
        unsound: ClassVar[str] = "it says everything"

    class Nameless(kind):  # type: ignore[misc]
        name: ClassVar[str] = "stump"

    @dataclass(frozen=True)
    class Loose(kind):  # type: ignore[misc]
        name: ClassVar[str] = "loose"
        cuts: np.ndarray = None  # type: ignore[assignment]

    with pytest.raises(TypeError, match=r"cuts must be .* NDArray\[np.float64\]"):
        tacit.register(Loose)
    with pytest.raises(TypeError, match="every parameter must have a default"):
        tacit.register(Needy)
    with pytest.raises(ValueError, match="may only be simulated"):
        tacit.register(Unsound)
    with pytest.raises(ValueError, match="no name of ours, got 'stump'"):
        tacit.register(Nameless)


@pytest.mark.parametrize(
    "kind",
    [
        tacit.PrivateBoosting,
        tacit.PrivateClassifier,
        tacit.SiteEnsemble,
        tacit.SiteEnsembleRegressor,
        tacit.PeerEnsemble,
    ],
)
def test_weights_are_refused_with_what_to_do_instead(kind):
    with pytest.raises(TypeError, match=rf"{kind.__name__}.fit takes no sample_weight: .*owners="):
        kind().fit(X, Y, sample_weight=np.ones(len(Y)))
    with pytest.raises(TypeError, match=r"no class_weight: .*public="):
        kind().fit(X, Y, class_weight="balanced")
    with pytest.raises(TypeError, match=rf"{kind.__name__} takes no class_weight: .*public="):
        kind(class_weight="balanced")
