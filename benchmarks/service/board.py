"""What Grafana (11 to 13) would trip over when it imports a dashboard, or leave out in silence.

Names of options are those of the types in Grafana's own package of them, @grafana/schema, as far as
our dashboard uses them.
"""

import json
import re
from collections import Counter
from collections.abc import Iterator
from itertools import combinations
from typing import Any

Board = dict[str, Any]
_SCHEMA = 39  # what Grafana 11 writes; later ones bring it to theirs
_COLUMNS = 24
_ROW = "row"
_OF_ALL = {"id", "title", "type", "description", "gridPos"}
_PANEL = _OF_ALL | {"datasource", "fieldConfig", "targets", "options", "transformations"}
_OF_ROW = _OF_ALL | {"collapsed", "panels"}
_OPTIONS = {
    "stat": {"reduceOptions", "orientation", "textMode", "colorMode", "graphMode", "justifyMode"}
    | {"wideLayout", "showPercentChange", "text"},
    "table": {"showHeader", "cellHeight", "frameIndex", "sortBy"},
    "timeseries": {"legend", "tooltip"},
}
_CUSTOM = {
    "stat": set[str](),
    "table": {"align", "cellOptions", "inspect", "minWidth", "width"},
    "timeseries": {"drawStyle", "lineInterpolation", "lineWidth", "lineStyle", "fillOpacity"}
    | {"showPoints", "pointSize", "spanNulls", "stacking", "thresholdsStyle", "axisSoftMax"},
}
_LEGEND = {"showLegend", "displayMode", "placement", "calcs", "sortBy", "sortDesc"}
_FIELD = {"unit", "min", "max", "decimals", "noValue", "color", "mappings", "thresholds"}
_FIELD |= {"displayName", "custom"}
_UNITS = {"short", "locale", "none", "reqps", "cps", "s", "bytes"}
_MATCHERS = {"byName", "byRegexp"}
_TRANSFORMATIONS = {"merge", "organize"}
_VARIABLE = re.compile(r"\$(?:\{(\w+)[^}]*\}|(\w+))")


def faults(board: Board) -> list[str]:
    """One line for each; none where all is well."""
    return [*_of_file(board), *_of_places(board["panels"]), *_of_panels(board)]


def _of_file(board: Board) -> Iterator[str]:
    if board.get("schemaVersion") != _SCHEMA:
        yield f"schemaVersion is not {_SCHEMA}"
    if board.get("id") is not None:
        yield "has the number of a dashboard somewhere"
    if not re.fullmatch(r"[\w-]{1,40}", board.get("uid", "")):
        yield "uid is no name of up to 40 letters"
    choices = board["templating"]["list"]
    sources = [each["name"] for each in choices if each["type"] == "datasource"]
    if [each["query"] for each in choices if each["name"] in sources] != ["prometheus"]:
        yield "has not one choice of a Prometheus"
    known = {each["name"] for each in choices}
    asked = {a or b for a, b in _VARIABLE.findall(json.dumps(board))}
    for name in sorted(asked - known):
        # $1 is a group of a regular expression; what begins so is Grafana's own
        if not name.isdigit() and not name.startswith("__"):
            yield f"${name} is not declared"
    for name in sorted(known - asked):
        yield f"${name} is not used"


def _of_places(panels: list[Board]) -> Iterator[str]:
    for what, key in (("id", "id"), ("title", "title")):
        for value, times in Counter(panel[key] for panel in panels).items():
            if times > 1 and (what == "id" or value):
                yield f"{what} {value} is there {times} times"
    for panel in panels:
        place = panel["gridPos"]
        if min(place["x"], place["y"]) < 0 or min(place["w"], place["h"]) < 1:
            yield f"{panel['title']}: is nowhere"
        if place["x"] + place["w"] > _COLUMNS:
            yield f"{panel['title']}: is wider than the grid"
    for first, second in combinations(panels, 2):
        if all(_meet(first["gridPos"], second["gridPos"], *axis) for axis in ("xw", "yh")):
            yield f"{first['title']} and {second['title']} overlap"


def _meet(first: dict[str, int], second: dict[str, int], start: str, size: str) -> bool:
    return (
        first[start] < second[start] + second[size] and second[start] < first[start] + first[size]
    )


def _of_panels(board: Board) -> Iterator[str]:
    for panel in board["panels"]:
        found = _of_row(panel) if panel["type"] == _ROW else _of_panel(panel)
        for fault in found:
            yield f"{panel['title']}: {fault}"


def _of_row(panel: Board) -> Iterator[str]:
    yield from _unknown("of a row", panel, _OF_ROW)
    if panel["collapsed"] or panel["panels"]:
        yield "is collapsed"


def _of_panel(panel: Board) -> Iterator[str]:
    kind = panel["type"]
    if kind not in _OPTIONS:
        yield f"a panel of type {kind} is none that is known here"
        return
    yield from _unknown("of a panel", panel, _PANEL)
    if not panel["title"] or not panel.get("description"):
        yield "lacks a title or a description"
    yield from _unknown("among options", panel["options"], _OPTIONS[kind])
    yield from _unknown("of a legend", panel["options"].get("legend", {}), _LEGEND)
    yield from _of_fields(panel["fieldConfig"], kind)
    yield from _of_targets(panel["targets"], kind)
    names = {f"Value #{target['refId']}" for target in panel["targets"]}
    for each in panel.get("transformations", ()):
        if each["id"] not in _TRANSFORMATIONS:
            yield f"transformation {each['id']}"
        for named in each["options"].values():
            for name in named:
                if name.startswith("Value #") and name not in names:
                    yield f"{name} is of no query"


def _of_fields(fields: Board, kind: str) -> Iterator[str]:
    defaults = fields["defaults"]
    yield from _unknown("of a field", defaults, _FIELD)
    yield from _unknown("of its own", defaults.get("custom", {}), _CUSTOM[kind])
    if defaults.get("unit") not in _UNITS:
        yield f"unit {defaults.get('unit')}"
    known = _FIELD - {"custom"} | {f"custom.{name}" for name in _CUSTOM[kind]}
    for override in fields["overrides"]:
        if override["matcher"]["id"] not in _MATCHERS:
            yield f"matcher {override['matcher']['id']}"
        yield from _unknown(
            "of an override", {each["id"] for each in override["properties"]}, known
        )


def _of_targets(targets: list[Board], kind: str) -> Iterator[str]:
    if len({target["refId"] for target in targets}) < max(len(targets), 1):
        yield "two queries have one name, or there is none"
    for target in targets:
        if not target.get("legendFormat"):
            yield f"query {target['refId']} has no legend"
        if target["datasource"] != {"type": "prometheus", "uid": "${source}"}:
            yield f"query {target['refId']} asks another source"
        # what is shown of now must not be what was last seen in hours
        if bool(target.get("instant")) == (kind == "timeseries"):
            yield f"query {target['refId']} asks for another time than is shown"


def _unknown(what: str, found: Board | set[str], known: set[str]) -> Iterator[str]:
    for name in sorted(set(found) - known):
        yield f"no such name {what}: {name}"
