"""How a rehearsal draws owners: in the order in which the engine in one process does. Reproducible, not private."""

from collections.abc import Sequence

from tacit.coordinator.store import Store
from tacit.engines.inline import drawing_order
from tacit.streams import Stream


class SeededDraw:
    """Draws owners by their number, which is their place in the sorted order of their names."""

    def __init__(self, store: Store, stream: Stream) -> None:
        self._store = store
        self._stream = stream

    def __call__(self, waiting: Sequence[int], count: int, asked: int) -> list[int]:
        names = self._store.labels()
        places = sorted(names, key=lambda place: names[place])
        order = [places[number] for number in drawing_order(len(places), self._stream)]
        fresh = set(waiting)
        return [place for place in order if place in fresh][:count]
