"""Models in files: the same predictions, the guarantee and the transcript's digest inside,
nothing of owners' rows.
"""

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

import tacit
from tacit import (
    PeerEnsemble,
    PrivateBoosting,
    PrivateClassifier,
    SiteEnsemble,
    SiteEnsembleRegressor,
)
from tacit.estimators.persistence import FittedAttribute, SavedModel, sign_model
from tacit.learners.peers.peer_model import Additive, ServedScores
from tacit.wire import WireError, decode, encode
from tacit.wire.envelopes import public_bytes


def data(n=4000, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))
    return X, (X[:, 0] + 0.5 * X[:, 1] + 0.5 * rng.normal(size=n) > 0).astype(int)


MODELS: dict[str, Any] = {
    "stump": lambda: PrivateBoosting("stump", epsilon=4.0, rounds=3, random_state=1),
    "centroid": lambda: PrivateBoosting("centroid", epsilon=4.0, rounds=2, random_state=1),
    "logistic": lambda: PrivateBoosting("logistic", epsilon=4.0, rounds=1, random_state=1),
    "classifier": lambda: PrivateClassifier(epsilon=8.0, random_state=1),
    "private only": lambda: PrivateClassifier(epsilon=8.0, combine="private", random_state=1),
    "trees": lambda: PrivateClassifier(epsilon=8.0, features="trees", rounds=2, random_state=1),
}
COUNTS = "exact counts of owners' rows"
NOT_IN_FILES = {
    "moved_values_": COUNTS,
    "ignored_rows_": COUNTS,
    "models_": "participants' own models know their exact rows",
    "site_models_": "a file compares no sites: it has the model that was made of all",
    "model_": "of sites: scores of single public rows are in it",
    "sites_": "names, only where a report has them; with two servers none does",
}
IN_FILES_ONLY = {"label_", "signed_by_"}


def attributes(estimator: Any) -> set[str]:
    """What scikit-learn's habit calls fitted: public names that end in an underscore."""
    names = (name for name in dir(estimator) if name.endswith("_") and not name.startswith("_"))
    return {name for name in names if hasattr(estimator, name)}


def same(one: Any, other: Any) -> bool:
    """Whether two attributes say the same."""
    if isinstance(one, np.ndarray):
        return bool(np.array_equal(one, other))
    try:
        return encode(one) == encode(other)
    except WireError:
        return bool(one == other)


def compare_attributes(model: Any, again: Any) -> None:
    """Loaded models have all that fitted ones have, with the same values; what a file must not
    hold is listed with its reason.
    """
    listed = set(NOT_IN_FILES)
    if isinstance(model, PrivateClassifier):
        listed.remove("model_")
    if any("site" in row for row in model.report_):
        listed.remove("sites_")
    fitted, loaded = attributes(model), attributes(again)
    assert fitted - loaded == fitted & listed
    assert loaded - fitted == IN_FILES_ONLY - fitted
    by_what_they_say = {"guarantee_", "served_", "explainer_"}
    both = fitted & loaded - by_what_they_say
    assert [name for name in both if not same(getattr(model, name), getattr(again, name))] == []


@pytest.mark.parametrize("name", sorted(MODELS))
def test_a_model_comes_back_as_it_was(tmp_path, name):
    X, y = data()
    model = MODELS[name]().fit(X[200:], y[200:], public=(X[:200], y[:200]))
    model.save(tmp_path / "m.tacit")
    again = tacit.load(tmp_path / "m.tacit")
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
    assert again.guarantee_ == model.guarantee_.of_model
    assert "moved_values_" in str(model.guarantee_)  # which a file does not have
    assert "moved_values_" not in str(again.guarantee_)
    assert again.transcript_ == model.transcript_
    assert again.report_ == model.report_
    asked = model.guarantee_.epsilon[1] > 0
    assert again.get_params()["epsilon"] == (model.epsilon if asked else 1.0)
    stages = zip(again.staged_predict(X), model.staged_predict(X), strict=True)
    assert all((one == other).all() for one, other in stages)
    compare_attributes(model, again)
    again.save(tmp_path / "again.tacit")
    assert (tmp_path / "again.tacit").read_bytes() == (tmp_path / "m.tacit").read_bytes()


def test_the_name_of_the_label_is_kept(tmp_path):
    X, y = data(600)
    model = MODELS["centroid"]().fit(X[200:], y[200:], public=(X[:200], y[:200]))
    for name in ("", "ill"):
        model.label_ = name
        model.save(tmp_path / "m.tacit")
        assert tacit.load(tmp_path / "m.tacit").label_ == name
    with pytest.raises(FileNotFoundError, match=r"there is no folder .*nowhere$"):
        model.save(tmp_path / "nowhere" / "m.tacit")
    with pytest.raises(IsADirectoryError, match=f"^{tmp_path} is a folder: name a file in it"):
        model.save(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["m.tacit"]


def test_a_file_that_is_no_model_is_named(tmp_path):
    (tmp_path / "rows.csv").write_text("age,ill\n41,yes\n")
    with pytest.raises(WireError, match=r"rows\.csv is not a tacit model, or a damaged one"):
        tacit.load(tmp_path / "rows.csv")


OF_FEW: dict[str, Any] = {
    "sites": lambda: SiteEnsemble(epsilon=1.0, random_state=1),
    "sites, numbers": lambda: SiteEnsembleRegressor(epsilon=1.0, random_state=1),
    "peers": lambda: PeerEnsemble(epsilon=1.0, rounds=4, random_state=1),
    "peers, trees": lambda: PeerEnsemble(epsilon=1.0, rounds=4, method="trees", random_state=1),
    "peers, stumps": lambda: PeerEnsemble(epsilon=1.0, rounds=2, method="stumps", random_state=1),
    "sites, servers": lambda: SiteEnsemble(epsilon=0.01, trust="two servers", random_state=1),
}


@pytest.mark.parametrize("name", sorted(OF_FEW))
def test_models_of_sites_and_peers_come_back_without_anybody_in_them(tmp_path, name, monkeypatch):
    monkeypatch.setattr("tacit.algorithms.wide_features.WIDE", 60)
    X, y = data()
    who = {"owners": np.arange(3800) % 4}
    model = OF_FEW[name]().fit(X[200:], y[200:], public=(X[:200], y[:200]), **who)
    model.save(tmp_path / "m.tacit")
    again = tacit.load(tmp_path / "m.tacit")
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    assert (again.guarantee_, again.transcript_, again.report_) == (
        model.guarantee_.of_model,
        model.transcript_,
        model.report_,
    )
    compare_attributes(model, again)
    again.save(tmp_path / "again.tacit")
    assert (tmp_path / "again.tacit").read_bytes() == (tmp_path / "m.tacit").read_bytes()
    if name.startswith("peers"):
        with pytest.raises(ValueError, match="has no participants"):
            again.join(X, y, name="newcomer")


def test_stages_share_what_they_have_in_common_in_a_file():
    X, y = data()
    model = PrivateClassifier(epsilon=8.0, rounds=4, random_state=1)
    model.fit(X[200:], y[200:], public=(X[:200], y[:200]))
    assert len(model.stages_) == 5
    first, last = (len(encode(model.stages_[place])) for place in (0, -1))
    assert len(encode(model.content())) < last + first + 8_000


@pytest.mark.parametrize("attribute", [("models_", b""), ("public_only_score_", encode("0.9"))])
def test_a_file_sets_only_attributes_that_are_saved_of_the_type_that_they_have(tmp_path, attribute):
    X, y = data(600)
    model = MODELS["centroid"]().fit(X[200:], y[200:], public=(X[:200], y[:200]))
    odd = replace(model.content(), attributes=(FittedAttribute(*attribute),))
    (tmp_path / "odd.tacit").write_bytes(encode(odd))
    with pytest.raises(WireError):
        tacit.load(tmp_path / "odd.tacit")


def test_a_model_about_other_columns_than_its_file_has_is_refused_when_it_is_read(tmp_path):
    """Whoever predicted by it met an error of numpy's."""
    X, y = data(600)
    boosted = MODELS["stump"]().fit(X[200:], y[200:], public=(X[:200], y[:200]))
    alpha, stump = boosted.ensemble_.members[0]
    told = boosted.content()
    beyond = replace(told.model, members=((alpha, replace(stump, column=4)),))
    peers = PeerEnsemble(epsilon=4.0, random_state=1)
    peers.fit(X[200:], y[200:], owners=np.arange(400) % 4, public=(X[:200], y[:200]))
    served, model = encode(peers.content()), peers.content().model
    assert isinstance(model, ServedScores)
    assert isinstance(model.scores, Additive)
    part = model.scores.parts[0]
    for odd in (
        encode(replace(told, model=beyond)),
        encode(replace(told, frequencies=np.zeros(0))),
        served.replace(encode(part)[2:], encode(replace(part, column=9))[2:], 1),
    ):
        (tmp_path / "odd.tacit").write_bytes(odd)
        with pytest.raises(WireError):
            tacit.load(tmp_path / "odd.tacit")


def test_names_categories_and_text_labels_survive(tmp_path):
    X, y = data()
    frame = pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "c": np.where(X[:, 2] > 0, "north", "south")})
    labels = np.where(y > 0, "yes", "no")
    model = PrivateBoosting("centroid", epsilon=4.0, rounds=1, random_state=1)
    model.fit(frame[200:], labels[200:], public=(frame[:200], labels[:200]))
    model.save(tmp_path / "m.tacit")
    again = tacit.load(tmp_path / "m.tacit")
    assert again.predict(frame).tolist() == model.predict(frame).tolist()
    with pytest.raises(ValueError, match="feature names"):
        again.predict(frame.rename(columns={"a": "z"}))


def test_the_transcript_tells_runs_apart():
    X, y = data()
    runs = [
        PrivateBoosting("stump", epsilon=4.0, rounds=2, random_state=seed).fit(
            X[200:], y[200:], public=(X[:200], y[:200])
        )
        for seed in (1, 1, 2)
    ]
    assert runs[0].transcript_ == runs[1].transcript_ != runs[2].transcript_


@pytest.mark.parametrize("kind", [PrivateClassifier, PrivateBoosting, SiteEnsemble, PeerEnsemble])
def test_an_estimator_that_was_not_fitted_can_be_looked_at(kind):
    """As a notebook does when it completes a name: what needs a fit is not there yet."""
    assert "fit" in dir(kind())
    assert not {"explainer_", "coef_"} & {*dir(kind())}


def test_what_cannot_be_saved_or_read_says_so(tmp_path):
    with pytest.raises(ValueError, match="must be fitted before it can be saved"):
        PrivateClassifier().save(tmp_path / "m.tacit")
    (tmp_path / "bad.tacit").write_bytes(b"no model")
    with pytest.raises(WireError):
        tacit.load(tmp_path / "bad.tacit")
    assert list(tmp_path.iterdir()) == [tmp_path / "bad.tacit"]


def test_a_campaigns_model_is_signed_and_a_changed_or_unsigned_one_says_so(tmp_path):
    X, y = data(600)
    model = MODELS["centroid"]().fit(X[200:], y[200:], public=(X[:200], y[:200]))
    model.save(tmp_path / "unsigned.tacit")
    plain = (tmp_path / "unsigned.tacit").read_bytes()
    key, other = Ed25519PrivateKey.generate(), Ed25519PrivateKey.generate()
    name, stranger = (public_bytes(each.public_key()) for each in (key, other))
    file = tmp_path / "signed.tacit"
    file.write_bytes(sign_model(plain, key))
    for given in (name, name.hex()):
        again = tacit.load(file, key=given)
        assert again.signed_by_ == name.hex()
        np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
    assert tacit.load(file).signed_by_ == name.hex()
    assert tacit.load(tmp_path / "unsigned.tacit").signed_by_ is None
    with pytest.raises(ValueError, match="signed by nobody, not by the campaign's key"):
        tacit.load(tmp_path / "unsigned.tacit", key=name)
    with pytest.raises(ValueError, match=f"signed by the key {name.hex()}, not by"):
        tacit.load(file, key=stranger)
    with pytest.raises(ValueError, match="key must be 32 bytes"):
        tacit.load(file, key="ab")

    # an epsilon that somebody would rather have: 4.0 in the guarantee becomes 1.0
    content = decode(plain, SavedModel)
    better = replace(content, guarantee=replace(content.guarantee, epsilon=(1.0, 1.0)))
    signed = sign_model(plain, key)
    head = signed[: len(signed) - len(plain)]
    file.write_bytes(head + encode(better))
    for asked in (None, name):
        with pytest.raises(ValueError, match="changed after it was signed"):
            tacit.load(file, key=asked)
    for cut in (len(head) - 70, len(head), len(signed) - 1):
        file.write_bytes(signed[:cut])
        with pytest.raises(ValueError, match="changed after it was signed"):
            tacit.load(file)
