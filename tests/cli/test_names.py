"""Names that other people chose, in the terminal of whoever looks at them."""

from dataclasses import replace

from tacit.cli import app
from tacit.estimators.persistence import SavedModel
from tacit.service.coordinator.store import Store
from tacit.wire import decode, encode
from tests.cli.made import run
from tests.service.coordinator.made import enrol

NAMES = ("Site :smile:", "[/b]", "[red]Site[/red]", "=1+1", "Site \U0001f604")


def test_a_name_is_shown_as_it_was_typed(tmp_path, monkeypatch):
    """Two names looked the same, of which one was typed as the word for a picture."""
    monkeypatch.chdir(tmp_path)
    store = Store("sqlite:///c.db")
    store.create_or_resume("trial", b"terms", b"k" * 32)
    for place, name in enumerate(NAMES):
        store.add_tokens([f"token number {place}"])
        assert enrol(store, f"{place:064x}", f"token number {place}", name)
    store.close()
    listed = run(app, ["admin", "owners", "--database", "sqlite:///c.db"])
    assert listed.exit_code == 0, listed.output
    lines = listed.stdout.splitlines()
    assert [line[65:].partition(": waits")[0] for line in lines] == list(NAMES)


def test_columns_of_a_strangers_model_steer_nothing(model, tmp_path):
    saved = decode(model.read_bytes(), SavedModel)
    first, *others = saved.schema.features
    odd = replace(first, name="[/b] :smile: \x1b[2K\x07")
    file = tmp_path / "odd.tacit"
    file.write_bytes(encode(replace(saved, schema=replace(saved.schema, features=(odd, *others)))))
    told = run(app, ["explain", str(file), "--out", str(tmp_path / "page.html")])
    assert told.exit_code == 0, told.exception
    assert "[/b] :smile: \ufffd[2K\ufffd" in told.stdout
    assert "\x1b[2K" not in told.stdout
