"""A schema as a TOML file, for what is known without any public rows: bounds, categories, classes.

classes = ["no", "yes"]

[features]
age = { low = 0, high = 120 }
state = { values = ["north", "south"] }
"""

import json
import tomllib
from pathlib import Path
from typing import Any

from tacit.data.schema import Category, Number, Schema


def read_schema(path: str | Path) -> Schema:
    """The schema in a TOML file; features in their order there."""
    file = Path(path)
    try:
        content = tomllib.loads(file.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as problem:
        raise ValueError(f"{file} cannot be read as a schema: {problem}") from problem
    features, classes = content.get("features"), content.get("classes")
    if (
        set(content) != {"features", "classes"}
        or not isinstance(features, dict)
        or not isinstance(classes, list)
    ):
        raise ValueError(
            f"{file} must have classes = [...] and a table [features], and nothing else"
        )
    return Schema(
        tuple(_feature(file, name, given) for name, given in features.items()), tuple(classes)
    )


def schema_text(schema: Schema) -> str:
    """The file that `read_schema` reads as this schema.

    >>> features = (Number("age", 0, 120), Category("state", ("n", "s")))
    >>> print(schema_text(Schema(features, ("no", "yes"))))
    classes = ["no", "yes"]
    <BLANKLINE>
    [features]
    "age" = { low = 0.0, high = 120.0 }
    "state" = { values = ["n", "s"] }
    <BLANKLINE>
    """
    lines = [f"classes = {json.dumps(list(schema.classes), ensure_ascii=False)}", "", "[features]"]
    for feature in schema.features:
        if isinstance(feature, Number):
            told = f"low = {feature.low!r}, high = {feature.high!r}"
        else:
            known = [value for value in feature.values if value is not None]
            told = f"values = {json.dumps(known, ensure_ascii=False)}"
        lines.append(f"{json.dumps(feature.name, ensure_ascii=False)} = {{ {told} }}")
    return "\n".join(lines) + "\n"


def _feature(file: Path, name: str, given: Any) -> Number | Category:
    match given:
        case {"low": int() | float() as low, "high": int() | float() as high, **rest} if not rest:
            return Number(name, low, high)
        case {"values": [one], **rest} if not rest:
            return Category(name, (one, None))
        case {"values": list() as values, **rest} if not rest:
            return Category(name, tuple(values))
    raise ValueError(
        f"{file}: feature {name!r} must be {{ low = ..., high = ... }} or {{ values = [...] }}"
    )
