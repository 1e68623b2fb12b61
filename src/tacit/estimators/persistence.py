"""Fitted models in a file: canonical bytes with the guarantee and the transcript's digest inside.
No pickle.

What is saved is what `predict` needs and what a reader should know: schema, model, guarantee, how
it came about, the models after each round. Everything in it was public before: the model is made of
reports and of the data user's own sample. No row is in it, and nothing about a single one.

A campaign signs what it publishes: the file begins with a line that says so, the campaign's public
key and its signature over the rest. Nobody else can make one that `load(..., key=)` takes; a
signed file that was changed is refused whether a key is given or not.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

import tacit
from tacit._util.checks import bad
from tacit._util.file_checks import check_place
from tacit._util.stopping import write_whole
from tacit._util.types import FloatArray
from tacit.data.number_target import NumberSchema, Range  # noqa: F401 - such a schema can be read
from tacit.data.schema import Schema
from tacit.estimators.guarantee import Guarantee
from tacit.learners.models.ensemble import Ensemble
from tacit.learners.models.scores import Mapped, ScoreModel, Term
from tacit.learners.peers.peer_model import ServedScores
from tacit.learners.sites.projection import LinearModel
from tacit.wire import MissingError, WireError, decode, encode, message
from tacit.wire.codec import load_plugins
from tacit.wire.envelopes import KEY, public_bytes, sign_bytes, verify

if TYPE_CHECKING:
    from tacit.estimators.own_models import PeerModel

_SIGNED = b"tacit model, signed\n"
_PURPOSE = "model"
_LARGEST = 1 << 30  # bytes of a model: no file of ours comes near


@message("stage")
@dataclass(frozen=True, eq=False)
class Stage:
    """One model among `Stages`: the places of its terms, and weights of those that are linear in
    the features of a map (others have none: an array of no numbers).
    """

    places: tuple[int, ...]
    weights: tuple[FloatArray, ...]


@message("stages")
@dataclass(frozen=True, eq=False)
class Stages:
    """The models before the last one, with what they share written once: rounds differ in the
    weights of one large map, or add to the terms before.

    Places count the terms of the last model first, then `terms`.
    """

    terms: tuple[Term, ...] = ()
    stages: tuple[Stage, ...] = ()

    @classmethod
    def of(cls, models: Sequence[ScoreModel]) -> "Stages":
        """Of all models, the last one included."""
        known = list(models[-1].terms) if models else []
        written = [_without_weights(term) for term in known]
        stages = []
        for model in models[:-1]:
            places, weights = [], []
            for term in model.terms:
                form = _without_weights(term)
                if form not in written:
                    written.append(form)
                    known.append(term)
                places.append(written.index(form))
                weights.append(term.weights if isinstance(term, Mapped) else np.zeros(0))
            stages.append(Stage(tuple(places), tuple(weights)))
        return cls(tuple(known[len(models[-1].terms) :]) if models else (), tuple(stages))

    def models(self, last: ScoreModel) -> tuple[ScoreModel, ...]:
        """All models again, the last one included."""
        known = (*last.terms, *self.terms)
        found = []
        for stage in self.stages:
            terms = [known[place] for place in stage.places]
            pairs = zip(terms, stage.weights, strict=True)
            each = tuple(
                replace(term, weights=own) if isinstance(term, Mapped) else term
                for term, own in pairs
            )
            found.append(ScoreModel(last.classes, each))
        return (*found, last)


def _without_weights(term: Term) -> bytes:
    """What terms of several models may have in common."""
    return encode(term.features if isinstance(term, Mapped) else term)


@message("fitted attribute")
@dataclass(frozen=True)
class FittedAttribute:
    """What an estimator has after a fit under this name, encoded: predictions need none of it."""

    name: str
    value: bytes


def attributes_of(values: Mapping[str, Any]) -> tuple[FittedAttribute, ...]:
    """Attributes by name, as they are saved."""
    return tuple(FittedAttribute(name, encode(value)) for name, value in values.items())


@message("saved model")
@dataclass(frozen=True, eq=False)
class SavedModel:
    """A model of the estimator `kind`; `names` are the columns it was fitted on (none: an array
    without names).

    `label` is the name of the column that it predicts, empty where it is not known; `stages` and
    `attributes` are what its estimator has beside it.
    """

    program: str
    kind: str
    schema: Schema
    model: Ensemble | ScoreModel | LinearModel | ServedScores
    frequencies: FloatArray
    names: tuple[str, ...]
    columns: int
    guarantee: Guarantee
    report: str
    ended: str
    transcript: bytes
    label: str = ""
    stages: Stages = Stages()
    attributes: tuple[FittedAttribute, ...] = ()

    def probabilities(self, X: FloatArray) -> FloatArray:
        """How likely each class is, for encoded rows, (rows, classes): what `predict_proba` of the
        estimator says, without scikit-learn.
        """
        if isinstance(self.model, Ensemble):
            return self.model.parts(self.model.votes(X), self.frequencies)
        return self.model.probabilities(X)

    def numbers(self, X: FloatArray) -> FloatArray:
        """What a model of numbers predicts of encoded rows, inside the public range."""
        if not isinstance(self.model, LinearModel) or self.model.bounds is None:
            raise bad("model", "one that predicts numbers", self.kind)
        return Range(*self.model.bounds).numbers(self.model.scores(X)[:, 0])


class Savable:
    """`save` for estimators whose fitted model is in the attribute that `_fitted_model` names;
    `_saved` names what else of a fit is saved, with the type that each must have when it is read.
    """

    _fitted_model: str
    _saved: ClassVar[Mapping[str, Any]] = {}

    def save(self, path: str | Path) -> None:
        """Write the fitted model to a file, whole or not at all; read it with `tacit.load`.

        What the estimator knows beyond the model, as its guarantee says, stays behind. `label_`,
        where it is set, is the name of the column that the model predicts.
        """
        content = self.content()
        write_whole(check_place(Path(path)), encode(content))

    def content(self) -> SavedModel:
        """What `save` writes: the model, and what a reader should know of it."""
        fitted: Any = self
        if not hasattr(fitted, self._fitted_model):
            from sklearn.exceptions import NotFittedError  # as scikit-learn's own `dir` expects

            raise NotFittedError(
                f"{type(self).__name__} must be fitted before it can be saved or explained"
            )
        frequencies = np.asarray(getattr(fitted, "public_frequencies_", ()), dtype=np.float64)
        return SavedModel(
            program=tacit.__version__,
            kind=type(self).__name__,
            schema=fitted.schema_,
            model=self._to_save(),
            frequencies=frequencies,
            names=tuple(str(name) for name in getattr(fitted, "feature_names_in_", ())),
            columns=int(fitted.n_features_in_),
            guarantee=replace(fitted.guarantee_, held=""),
            report=json.dumps(fitted.report_),
            ended=fitted.ended_,
            transcript=fitted.transcript_,
            label=getattr(fitted, "label_", ""),
            stages=Stages.of(getattr(fitted, "stages_", ())),
            attributes=attributes_of(
                {name: getattr(fitted, name) for name in self._saved if hasattr(fitted, name)}
            ),
        )

    def _to_save(self) -> Any:
        """The model as it travels."""
        return getattr(self, self._fitted_model)

    def _take_up(self, model: Any) -> None:
        """Take up a model that was saved; all else is there already."""
        setattr(self, self._fitted_model, model)


def sign_model(data: bytes, key: Ed25519PrivateKey) -> bytes:
    """The bytes of a model, signed with a campaign's key."""
    return _SIGNED + public_bytes(key.public_key()) + sign_bytes(data, _PURPOSE, key)


def open_model(data: bytes, key: bytes | None = None) -> tuple[bytes, bytes | None]:
    """The bytes of a model, and the public key that signed them (None: nobody).

    With a `key` only what it signed will do; a signature that does not hold never does.
    """
    signer = None
    if data.startswith(_SIGNED):
        signer, rest = data[len(_SIGNED) :][:KEY], data[len(_SIGNED) + KEY :]
        try:
            named = Ed25519PublicKey.from_public_bytes(signer)
            data = verify(rest, _PURPOSE, named, _LARGEST)
        except (WireError, ValueError) as problem:
            raise ValueError(
                "the file was changed after it was signed: fetch it again"
            ) from problem
    if key is not None and signer != key:
        by = "nobody" if signer is None else f"the key {signer.hex()}"
        raise ValueError(
            f"the model is signed by {by}, not by the campaign's key {key.hex()}: do not rely on "
            "what it says of itself"
        )
    return data, signer


def load(path: str | Path, key: str | bytes | None = None) -> Any:
    """A model in a file, ready to predict, with its guarantee.

    Parameters
    ----------
    path : str or Path
        A file that `save` of an estimator wrote, a campaign's published model, or a peer's own
        model.
    key : str or bytes, optional
        The public key (64 hexadecimal digits, or 32 bytes) of the campaign that must have signed
        the file. Without it what a file says of itself, such as its epsilon, is only as good as
        where it came from; `signed_by_` is the key that signed it, None if nobody did.

    Returns
    -------
    estimator
        Of the class that was saved; of a peer's own model a `PeerModel`.
    """
    from tacit import estimators  # here, because they import this module

    content, signer = read_model(path, key)
    if not isinstance(content, SavedModel):
        return content
    kind = getattr(estimators, content.kind, None)
    if not (isinstance(kind, type) and issubclass(kind, Savable)):
        raise ValueError(f"{path} holds a {content.kind!r}, which this release does not know")
    found = _restore(kind, content)
    found.signed_by_ = signer
    return found


def read_model(
    path: str | Path, key: str | bytes | None = None
) -> tuple["SavedModel | PeerModel", str | None]:
    """What a file holds, checked as `load` does and without scikit-learn, and the key (hex) that
    signed it; a `PeerModel` of a peer's own file.
    """
    size = Path(path).stat().st_size
    if not size <= _LARGEST:
        raise bad(f"bytes of {path}", f"at most {_LARGEST}", size)
    try:
        wanted = bytes.fromhex(key) if isinstance(key, str) else key
    except ValueError:
        wanted = b""
    if wanted is not None and len(wanted) != KEY:
        raise bad("key", f"{KEY} bytes or {2 * KEY} hexadecimal digits", key)
    try:
        data, signer = open_model(Path(path).read_bytes(), wanted)
    except ValueError as problem:
        raise ValueError(f"{path}: {problem}") from None
    signed_by = None if signer is None else signer.hex()
    try:
        return _decode_saved(data), signed_by
    except MissingError as problem:
        raise ValueError(f"{path}: {problem}") from None
    except WireError:
        return _decode_own(data, path), signed_by


def _decode_own(data: bytes, path: str | Path) -> "PeerModel":
    from tacit.estimators.own_models import decode_own

    try:
        return decode_own(data)
    except WireError:
        raise WireError(
            f"{path} is not a tacit model, or a damaged one: give a file that tacit fit, save or "
            "a campaign wrote"
        ) from None


def _decode_saved(data: bytes) -> SavedModel:
    """The model, with no more imported than it names: scores need nothing, members of ensembles
    their learners, and those of other packages what is installed.
    """
    try:
        return decode(data, SavedModel, _LARGEST)
    except WireError:
        import tacit.learners.owners  # makes members of ensembles known  # noqa: F401
    try:
        return decode(data, SavedModel, _LARGEST)
    except MissingError:
        load_plugins()
    return decode(data, SavedModel, _LARGEST)


def _restore(kind: type[Any], content: SavedModel) -> Any:
    estimator = kind(schema=content.schema).set_params(**_parameters_of(kind, content.guarantee))
    estimator.schema_ = content.schema
    if content.schema.labels:
        estimator.classes_ = np.array(content.schema.classes)
    if len(content.frequencies) or not content.schema.labels:
        estimator.public_frequencies_ = content.frequencies
    estimator.n_features_in_ = content.columns
    if content.names:
        estimator.feature_names_in_ = np.array(content.names, dtype=object)
    estimator.guarantee_ = content.guarantee
    try:
        estimator.report_ = json.loads(content.report)
    except (ValueError, RecursionError) as problem:
        raise WireError("a saved model: its report does not parse") from problem
    estimator.ended_ = content.ended
    estimator.transcript_ = content.transcript
    estimator.label_ = content.label
    try:
        _recall(estimator, content)
    except (ValueError, TypeError, KeyError, IndexError, AttributeError) as problem:
        raise WireError("a saved model: what it says of its fit does not parse") from problem
    return estimator


def _recall(estimator: Any, content: SavedModel) -> None:
    """Set the model, and what the estimator had beside it."""
    check = getattr(content.model, "check", None)
    if check is not None and content.schema.labels:  # who predicts need not find out
        check(content.schema.dim, content.schema.labels)
    for each in content.attributes:
        setattr(estimator, each.name, decode(each.value, estimator._saved[each.name], _LARGEST))
    if isinstance(content.model, ScoreModel) and hasattr(estimator, "staged_predict"):
        estimator.stages_ = content.stages.models(content.model)
    estimator._take_up(content.model)


def _parameters_of(kind: type[Any], promise: Guarantee) -> dict[str, Any]:
    """Parameters that the guarantee names, so that a model which was read says what it was fitted
    with; others are as they are by default.
    """
    told: dict[str, Any] = {"trust": promise.trust}
    low, high = promise.epsilon or (0.0, 0.0)
    if 0 < low == high:
        told["epsilon"] = high
    if promise.delta:
        told["delta"] = promise.delta
    return {name: value for name, value in told.items() if name in kind().get_params()}
