"""Models outside of tacit: ONNX graphs and JSON say what the models say; cards and pickles hold
what they should. Models without a compiler: the same bits.
"""

import json
import pickle

import numpy as np
import pytest

from tacit._util.kernels import interpreted
from tacit.estimators import (
    PeerEnsemble,
    PrivateBoosting,
    PrivateClassifier,
    SiteEnsemble,
    SiteEnsembleRegressor,
)
from tacit.estimators.export import CardFacts, card_of, json_form, write_onnx
from tacit.estimators.inputs import label_numbers
from tacit.estimators.measures import measure
from tacit.estimators.persistence import SavedModel
from tacit.learners.models.features import FeatureMap, Joined, Products, Rows, Waves
from tacit.learners.models.scores import (
    Forest,
    Leaves,
    Linear,
    Mapped,
    ModelScores,
    ScoreModel,
    Trees,
)
from tacit.render.pages import markdown_of, page_of
from tests.estimators.data import people, task

runtime = pytest.importorskip("onnxruntime")
X, Y = task(rows=900)
THREE = np.digitize(X[:, 0] + X[:, 1], [-0.5, 0.5])
SITES = np.arange(700) % 4


def fitted(model, y=Y, **more):
    return model.fit(X[:700], y[:700], public=(X[700:], y[700:]), **more)


def of_people():
    columns, labels, owners = people(rows=600)
    model = PrivateBoosting("stump", epsilon=8.0, rounds=3, random_state=1)
    return model.fit(columns, labels, owners=owners)


MODELS = {
    "own model": lambda: fitted(PrivateClassifier(random_state=1)),
    "three classes": lambda: fitted(
        PrivateClassifier(16.0, combine="private", random_state=1), THREE
    ),
    "stumps": of_people,
    "centroids": lambda: fitted(PrivateBoosting("centroid", epsilon=8.0, rounds=3, random_state=1)),
    "logistic": lambda: fitted(
        PrivateBoosting("logistic", epsilon=8.0, rounds=2, random_state=1), THREE
    ),
    "sites": lambda: fitted(SiteEnsemble(epsilon=9.0, random_state=1), owners=SITES),
    "sites of three": lambda: fitted(
        SiteEnsemble(epsilon=9.0, random_state=1), THREE, owners=SITES
    ),
    "turns": lambda: fitted(PeerEnsemble(epsilon=5.0, rounds=6, random_state=1), owners=SITES),
    "trees": lambda: fitted(
        PeerEnsemble(epsilon=5.0, rounds=6, method="trees", random_state=1), owners=SITES
    ),
}


def run_graph(path, columns, spell=str.lower):
    session = runtime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    given = {}
    for each in session.get_inputs():
        values = np.asarray(columns[each.name])
        if each.type == "tensor(string)":
            texts = [spell(str(v)) if isinstance(v, np.bool_ | bool) else str(v) for v in values]
            values = np.array(texts, dtype=object)
        else:
            values = values.astype(np.float64)
        given[each.name] = values.reshape(-1, 1)
    names = [each.name for each in session.get_outputs()]
    return dict(zip(names, session.run(names, given), strict=True))


@pytest.mark.parametrize("name", MODELS)
def test_graphs_say_what_models_say(name, tmp_path):
    model = MODELS[name]()
    write_onnx(model.content(), tmp_path / "m.onnx")
    if name == "stumps":
        rows = people(rows=300, seed=9)[0]
    else:
        features = model.schema_.features
        rows = {f.name: 3 * X[:, place] for place, f in enumerate(features)}
        rows[features[0].name][3] = np.nan
    told = run_graph(tmp_path / "m.onnx", rows)
    table = rows if name == "stumps" else np.stack(list(rows.values()), axis=1)
    said = model.predict_proba(table)
    np.testing.assert_allclose(told["probabilities"], said, atol=1e-6)
    assert told["label"].tolist() == model.predict(table).tolist()
    with interpreted():
        assert np.array_equal(model.predict_proba(table), said)


def test_truth_values_are_read_as_files_python_and_spreadsheets_write_them(tmp_path):
    flags = np.arange(600) % 3 > 0
    rows, y = {"flag": flags, "x": np.arange(600) % 7}, (flags ^ (np.arange(600) % 11 == 0)) + 0
    model = PrivateBoosting("stump", epsilon=8.0, rounds=2, random_state=1)
    model.fit(rows, y, public=(rows, y))
    write_onnx(model.content(), tmp_path / "m.onnx")
    said = model.predict_proba(rows)
    for spell in (str.lower, str.capitalize, str.upper):
        told = run_graph(tmp_path / "m.onnx", rows, spell)["probabilities"]
        np.testing.assert_allclose(told, said, atol=1e-9)
    other = run_graph(tmp_path / "m.onnx", rows, "is {}".format)["probabilities"]
    assert np.abs(other - said).max() > 1e-3  # of a model that the column says something to


def test_numbers_are_predicted_too(tmp_path):
    model = fitted(SiteEnsembleRegressor(epsilon=9.0, random_state=1), X[:, 0], owners=SITES)
    write_onnx(model.content(), tmp_path / "m.onnx")
    rows = {f.name: X[:, place] for place, f in enumerate(model.schema_.features)}
    told = run_graph(tmp_path / "m.onnx", rows)["prediction"][:, 0]
    np.testing.assert_allclose(told, model.predict(X), atol=1e-6)


def test_every_part_of_a_sum_of_scores(tmp_path):
    """Maps and trees of random numbers, side by side, in each other and one after the other."""
    rng = np.random.default_rng(3)
    model = fitted(PrivateClassifier(random_state=1), THREE)
    dim, classes = model.schema_.dim, 3
    trees = Trees(
        column=np.array([0, 2, -1, -1, -1, 1, -1, -1]),
        cut=rng.normal(size=8) / 4,
        left=np.array([1, 3, 0, 0, 0, 6, 0, 0]),
        right=np.array([2, 4, 0, 0, 0, 7, 0, 0]),
        value=rng.normal(size=8),
        roots=np.array([0, 5]),
        classes=np.array([2, 0]),
    )
    first = ScoreModel(
        classes, (Linear(rng.normal(size=(dim, classes)), rng.normal(size=classes)),)
    )
    wide = Joined(
        (
            Rows(),
            Products(rng.normal(size=dim), rng.normal(size=(dim, 3)), 1.5),
            Waves(rng.normal(size=dim), rng.normal(size=(dim, 4))),
            Leaves(trees),
            ModelScores(first),
        )
    )
    width = wide.width(dim)
    map_ = FeatureMap(wide, rng.normal(size=width), rng.normal(size=(width, 6)), 0.7)
    flat = FeatureMap(Rows(), rng.normal(size=dim), rng.normal(size=dim))
    terms = (
        Forest(trees, rng.normal(size=classes), 1.7),
        Mapped(map_, rng.normal(size=(7, classes))),
        Mapped(flat, rng.normal(size=(dim + 1, classes))),
    )
    saved = model.content()
    parts = {name: getattr(saved, name) for name in saved.__dataclass_fields__}
    whole = SavedModel(**parts | {"model": ScoreModel(classes, (*first.terms, *terms))})
    write_onnx(whole, tmp_path / "m.onnx")
    rows = {f.name: X[:, place] for place, f in enumerate(model.schema_.features)}
    told = run_graph(tmp_path / "m.onnx", rows)["probabilities"]
    encoded = model.schema_.encode(X).X
    said = whole.probabilities(encoded)
    np.testing.assert_allclose(told, said, atol=1e-9)
    with interpreted():
        assert np.array_equal(whole.probabilities(encoded), said)


def encode_as_said(column, values):
    """A column as the words of the JSON form say, by plain arithmetic."""
    if "low" in column:
        middle = (column["low"] + column["high"]) / 2
        numbers = [(value - middle) / ((column["high"] - column["low"]) / 2) for value in values]
        return [[0.0 if each != each else min(max(each, -1.0), 1.0)] for each in numbers]
    hot = [[1.0 if value == known else -1.0 for known in column["values"]] for value in values]
    return [row[1:] if len(row) == 2 else row for row in hot]


@pytest.mark.parametrize("name", ["three classes", "turns"])
def test_json_says_what_the_model_says(name):
    model = MODELS[name]()
    told = json.loads(json_form(model.content()))
    columns = [encode_as_said(each, X[:, place]) for place, each in enumerate(told["columns"])]
    for i in range(50):
        numbers = [number for column in columns for number in column[i]]
        if told["kind"] == "linear":
            scores = [
                level + sum(w * x for w, x in zip(weights, numbers, strict=True))
                for weights, level in zip(told["coefficients"], told["intercept"], strict=True)
            ]
            best = scores.index(max(scores))
        else:
            score = 0.0
            for table, (number,) in zip(told["tables"], [each[i] for each in columns], strict=True):
                score += table[min(int((number + 1) / 2 * len(table)), len(table) - 1)]
            best = int(score > 0)
            assert score == pytest.approx(model.decision_function(X[i : i + 1])[0], abs=1e-9)
        assert told["classes"][best] == model.predict(X[i : i + 1])[0]


def scores_as_said(told, numbers):
    """Of sites, as the words of the JSON form say."""
    sums = [
        sum((x - c) * d for x, c, d in zip(numbers, told["centre"], direction, strict=True))
        for direction in told["directions"]
    ]
    sums += [told["constant"]] if told["constant"] > 0 else []
    root, sizes = sum(v * v for v in sums) ** 0.5, sum(map(abs, sums))
    factor = told["inside"] / max(1.0, root, sizes / told["l1_bound"])
    return [
        sum(factor * v * weight for v, weight in zip(sums, vector, strict=True))
        for vector in told["vectors"]
    ]


@pytest.mark.parametrize("name", ["sites", "sites of three", "numbers"])
def test_json_of_sites_says_what_the_model_says(name):
    if name == "numbers":
        model = fitted(SiteEnsembleRegressor(epsilon=9.0, random_state=1), X[:, 0], owners=SITES)
    else:
        model = MODELS[name]()
    told = json.loads(json_form(model.content()))
    far = 3 * X  # beyond the bounds, and long enough to be shortened
    columns = [encode_as_said(each, far[:, place]) for place, each in enumerate(told["columns"])]
    for i in range(50):
        scores = scores_as_said(told, [number for column in columns for number in column[i]])
        if name == "numbers":
            low, high = told["range"]
            said = low + (high - low) * (min(max(scores[0], -1.0), 1.0) + 1) / 2
            assert said == pytest.approx(model.predict(far[i : i + 1])[0], rel=1e-9)
            continue
        chances = [1 / (1 + np.exp(-score)) for score in scores]
        chances = [1 - chances[0], *chances] if len(chances) == 1 else chances
        likely = np.array(chances) / sum(chances)
        np.testing.assert_allclose(likely, model.predict_proba(far[i : i + 1])[0], atol=1e-9)


def test_tables_of_categories_name_every_value():
    columns, labels, _ = people(rows=600)
    sites = [f"s{number % 3}" for number in range(600)]
    model = PeerEnsemble(epsilon=9.0, rounds=9, random_state=1).fit(columns, labels, owners=sites)
    told = json.loads(json_form(model.content()))
    by_name = {each["name"]: place for place, each in enumerate(told["columns"])}
    town = by_name["town"]
    rows = {name: values[:40] for name, values in columns.items()}
    scores = np.zeros(40)
    for name, place in by_name.items():
        column, table = told["columns"][place], told["tables"][place]
        for i, value in enumerate(rows[name]):
            if "low" in column:
                number = encode_as_said(column, [value])[0][0]
                scores[i] += table[min(int((number + 1) / 2 * len(table)), len(table) - 1)]
            else:
                scores[i] += table[column["values"].index(value)]
    np.testing.assert_allclose(scores, model.decision_function(rows), atol=1e-9)
    assert len(told["tables"][town]) == 4  # three towns, and none of them


def test_what_is_no_sum_over_columns_has_no_json_form():
    with pytest.raises(ValueError, match="write it as ONNX"):
        json_form(MODELS["trees"]().content())


def test_a_card_says_what_a_reader_should_know():
    model = MODELS["own model"]()
    found = measure(model.predict_proba(X), label_numbers(Y, model.schema_))
    facts = CardFacts("Screening, never a diagnosis.", found, found)
    card = card_of(model.content(), facts)
    words = ("Screening, never a diagnosis", str(found["AUC"]), "Nobody was asked", "adversary")
    for text in (markdown_of(card), page_of(card)):
        for each in (*words, "public rows alone", f"On {len(Y)} rows that nobody learned from"):
            assert each in text


def test_a_pickle_of_peers_holds_no_rows():
    secret = 123456.789012
    rows = X.copy()
    rows[:50, 2] = secret
    model = PeerEnsemble(epsilon=5.0, rounds=4, random_state=1)
    model.fit(rows[:700], Y[:700], owners=SITES, public=(X[700:], Y[700:]))
    sent = pickle.dumps(model)
    copy = pickle.loads(sent)  # noqa: S301
    assert model._cohort.X.tobytes()[:64] not in sent
    np.testing.assert_array_equal(copy.predict_proba(X), model.predict_proba(X))
    assert not hasattr(copy, "models_")
    with pytest.raises(ValueError, match="has no participants"):
        copy.leave(0)
