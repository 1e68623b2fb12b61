"""Reading saved models: which estimators there are."""

from pathlib import Path
from typing import Any

from tacit.estimators.boosting import PrivateBoosting
from tacit.estimators.classifier import PrivateClassifier
from tacit.estimators.peer_models import kept_own
from tacit.estimators.peers import PeerEnsemble
from tacit.estimators.persistence import file_bytes, restored
from tacit.estimators.sites import SiteEnsemble, SiteEnsembleRegressor
from tacit.wire import WireError

_SAVABLE = (PrivateBoosting, PrivateClassifier, SiteEnsemble, SiteEnsembleRegressor, PeerEnsemble)
_KINDS: dict[str, type[Any]] = {kind.__name__: kind for kind in _SAVABLE}


def load(path: str | Path) -> Any:
    """The estimator that `save` wrote to a file, ready to predict, with its guarantee; or a
    peer's own model.
    """
    try:
        return restored(path, _KINDS)
    except WireError:
        return kept_own(file_bytes(path))
