"""Sums of a rehearsal: the bytes of one process, through a helper that no real owner, campaign
or host accepts.
"""

import numpy as np
import pytest
from typer.testing import CliRunner

from tacit import seeded
from tacit.algorithms.boosting import AllOwners
from tacit.cli import app
from tacit.engines.inline import Inline
from tacit.estimators.persistence import SavedModel, open_model
from tacit.learners.models.ensemble import Ensemble
from tacit.service.coordinator.server import coordinator
from tacit.service.device.join import RehearsalPart, join
from tacit.service.helper import Helper, Sheets
from tacit.service.kinds.boosting import BoostingSpec
from tacit.sums.halves import REHEARSAL_HELPER, rehearsal_key
from tacit.sums.secure_sum import TwoServers
from tacit.wire import decode, encode
from tacit.wire.envelopes import public_bytes
from tests.service.coordinator.made import ADMIN, driven, folder_of, joining
from tests.service.coordinator.test_sums import CAMPAIGN, KEY, PEOPLE, TOKENS
from tests.service.helper.made import client_of

SEED = 7
LIMITS = {"epsilon_total": 100, "releases": 20}  # no helper: a rehearsal needs none in the policy


def helper(folder):
    campaigns = [public_bytes(KEY.public_key()).hex()]
    return Helper(rehearsal_key(), Sheets(folder / "rehearsal.db"), campaigns, noise=seeded(SEED))


def in_process(folder, seed):
    terms, _ = BoostingSpec.read(folder / "campaign.toml").prepare(bytes(32))
    _, cohort = joining(folder).rows(terms)
    engine = Inline(cohort, np.full(len(cohort), 8.0), seeded(seed), TwoServers(epsilon=2.5))
    return engine.run(terms.algorithm(AllOwners())).ensemble


def test_owners_and_both_servers_find_the_model_of_one_process(tmp_path, monkeypatch):
    monkeypatch.setattr("tacit.service.device.member._pause", lambda response, coin: 0.3)
    folder = folder_of(tmp_path, owners=PEOPLE, text=CAMPAIGN)
    database = f"sqlite:///{folder}/c.db"
    service = coordinator(
        folder / "campaign.toml", database, KEY, ADMIN, SEED, helper=client_of(helper(folder))
    )
    service.store.add_tokens(TOKENS)

    async def work(link):
        await join(joining(folder, RehearsalPart(SEED), **LIMITS), link, TOKENS)
        return await link.call("GET", "/v1/model", None)

    published = decode(open_model(driven(service, work).content)[0], SavedModel)
    assert isinstance(published.model, Ensemble)
    assert len(published.model)
    assert encode(published.model) == encode(in_process(folder, SEED))
    assert encode(published.model) != encode(in_process(folder, SEED + 1))


def test_a_campaign_names_no_helper_of_rehearsals(tmp_path):
    text = CAMPAIGN.replace("helper_key = ", f'helper_key = "{REHEARSAL_HELPER.hex()}" # ')
    folder = folder_of(tmp_path, owners=1, text=text)
    with pytest.raises(
        ValueError, match="helper_key must be a helper's own key, got that of rehearsals"
    ):
        coordinator(folder / "campaign.toml", f"sqlite:///{folder}/c.db", KEY, ADMIN)


def test_a_gate_trusts_no_helper_of_rehearsals(tmp_path):
    from tests.owner.made import gate

    with pytest.raises(ValueError, match="helper of the policy must be a helper's own key"):
        gate(tmp_path, helper=REHEARSAL_HELPER.hex().upper())


def test_a_rehearsal_asks_no_helper_elsewhere(tmp_path):
    folder = folder_of(tmp_path, owners=1, text=CAMPAIGN)
    with pytest.raises(ValueError, match=r"must stay on this machine .* got host 'helper.invalid'"):
        coordinator(folder / "campaign.toml", f"sqlite:///{folder}/c.db", KEY, ADMIN, SEED)


@pytest.mark.parametrize("command", [["helper"], ["serve", __file__]], ids=["helper", "serve"])
def test_neither_server_rehearses_off_this_machine(tmp_path, command):
    tls = ["--certificate", __file__, "--key", __file__]
    arguments = [
        *command,
        "--state",
        str(tmp_path / "state"),
        "--host",
        "192.0.2.1",
        "--rehearsal",
        "7",
        *tls,
    ]
    result = CliRunner().invoke(app, arguments)
    assert isinstance(result.exception, ValueError)
    assert "must stay on this machine" in str(result.exception)
    assert not (tmp_path / "state").exists()
