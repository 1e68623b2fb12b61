"""Entries of campaign files: what has another form than it must is an error of the file."""

import re
from dataclasses import fields

import pytest

from tacit.service.kinds import read_spec
from tacit.service.kinds.campaign_file import SPECS

COMMON = {"name": '"x"', "sample": '"mine.csv"', "label": '"ill"', "epsilon": "1.0", "start": "3"}
NEEDED = {
    "boosting": {"learner": '"centroid"', "rounds": "1", "owners_per_round": "3", "minimum": "1"},
    "classifier": {"owners": "3"},
    "gradient trees": {"owners": "3", "trees": "1"},
}
FORMS = {
    "text": '"x"',
    "whole": "5",
    "huge": "9" * 30,
    "truth": "true",
    "list": '["x", 5]',
    "table": "{ a = 1 }",
    "date": "1979-05-27",
    "nan": "nan",
}


@pytest.mark.parametrize("kind", ["boosting", "classifier", "gradient trees", "peers", "sites"])
def test_no_form_of_an_entry_is_a_fault_of_ours(tmp_path, kind):
    """A name that was a number was a traceback, and `leave_out = "id"` two columns, i and d."""
    file = tmp_path / "campaign.toml"
    for field in fields(SPECS[kind]):
        for form, value in FORMS.items():
            given = COMMON | NEEDED.get(kind, {}) | {"kind": f'"{kind}"', field.name: value}
            number = "float" in str(field.type)
            file.write_text("".join(f"{name} = {said}\n" for name, said in given.items()))
            try:
                read_spec(file)
            except ValueError as problem:
                said = str(problem)
                assert said.startswith(f"{file}: "), (field.name, form, said)
            else:
                assert form in ("text", "whole", "nan", "huge" if number else ""), field.name


@pytest.mark.parametrize(
    ("entry", "problem"),
    [
        ("name = 5", "name must be a text, got 5"),
        ('leave_out = "id"', "leave_out must be a list, of which each is a text, got 'id'"),
        ("sample = true", "sample must be the name of a file, got True"),
        ('start = "3"', "start must be a whole number of at most 18 digits, got '3'"),
        ("start = 1000000000000000000", "start must be a whole number of at most 18 digits"),
        ('deadline = "soon"', "deadline must be a number, got 'soon'"),
        ("deadline = nan", "deadline must be a finite number > 0, got nan"),
        ("target_range = 5", "target_range must be a list, of which each is a number, got 5"),
        ('model_for = "all"', "model_for must be one of administrators, members, public"),
    ],
)
def test_an_entry_is_told_with_its_file_and_its_value(tmp_path, entry, problem):
    file = tmp_path / "campaign.toml"
    name, _, value = entry.partition(" = ")
    given = COMMON | {"kind": '"sites"', name: value}
    file.write_text("".join(f"{key} = {said}\n" for key, said in given.items()))
    with pytest.raises(ValueError, match=f"^{re.escape(f'{file}: {problem}')}"):
        read_spec(file)
