"""Made-up people in files, for the commands that read them."""

import csv
from pathlib import Path

import numpy as np
from typer.testing import CliRunner

from tacit.cli import app

run = CliRunner().invoke


def people(rows, seed=0):
    """Named columns of people: numbers, texts, a date, a name, an owner; the label follows age
    and town.
    """
    rng = np.random.default_rng(seed)
    age, town = rng.integers(18, 90, rows), rng.choice(["north", "south", "west"], rows)
    score = (age - 54) / 20 + (town == "north") + 0.7 * rng.normal(size=rows)
    return {
        "age": [None if rng.random() < 0.02 else int(each) for each in age],
        "height": np.round(rng.normal(170, 10, rows), 1).tolist(),
        "town": [None if rng.random() < 0.02 else str(each) for each in town],
        "member": rng.choice(["true", "false"], rows).tolist(),
        "born": [f"{2024 - each}-03-01" for each in age.tolist()],
        "name": [f"person {number}" for number in range(rows)],
        "family": [f"f{number // 2}" for number in range(rows)],
        "rich": np.where(score > 0.3, "yes", "no").tolist(),
    }


def write_csv(path, columns, delimiter=","):
    with Path(path).open("w", newline="") as file:
        lines = csv.writer(file, delimiter=delimiter)
        lines.writerow(columns)
        lines.writerows(
            [
                ["" if value is None else value for value in row]
                for row in zip(*columns.values(), strict=True)
            ]
        )


def write_parquet(path, columns):
    """The same with types: born is a date, member a truth value."""
    import pyarrow as pa
    from pyarrow import parquet

    typed = {name: pa.array(values) for name, values in columns.items()}
    typed["born"] = pa.array(columns["born"]).cast(pa.date32())
    typed["member"] = pa.array([value == "true" for value in columns["member"]])
    parquet.write_table(pa.table(typed), path)


def family_files(folder, owners_rows=4000):
    """people.csv, people.parquet, mine.csv (public) and new.csv in a folder."""
    whole = people(owners_rows + 300 + 500)
    parts = {"mine": slice(0, 300), "new": slice(300, 800), "people": slice(800, None)}
    cut = {
        name: {column: values[part] for column, values in whole.items()}
        for name, part in parts.items()
    }
    for name, columns in cut.items():
        write_csv(folder / f"{name}.csv", columns)
    write_parquet(folder / "people.parquet", cut["people"])
    return cut


def fit(folder, *more, data="people.csv", public="mine.csv", out="m.tacit"):
    given = [] if public is None else ["--public", str(folder / public)]
    return run(
        app,
        ["fit", str(folder / data), "--label", "rich", *given, "--out", str(folder / out), *more],
    )


def answers(path):
    with path.open() as file:
        return [row["prediction"] for row in csv.DictReader(file)]
