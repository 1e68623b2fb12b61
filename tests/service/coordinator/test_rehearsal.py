"""A rehearsal over HTTP gives the bytes of the engine in one process; it is refused wherever it
could do harm.
"""

import asyncio

import numpy as np
import pytest

from tacit.algorithms.boosting import OwnSample
from tacit.engines.inline import Inline
from tacit.estimators.persistence import SavedModel, open_model
from tacit.mechanisms.streams import seeded
from tacit.service.device.client import Link
from tacit.service.device.join import RehearsalPart, join
from tacit.service.kinds.boosting import BoostingSpec
from tacit.wire import decode, encode
from tests.service.coordinator.made import client_of, driven, folder_of, joining, running

SEED = 7
TOKENS = [f"token number {i:04d}" for i in range(60)]


def in_process(folder, seed, epsilon):
    terms, public = BoostingSpec.read(folder / "campaign.toml").prepare()
    _, cohort = joining(folder).rows(terms)
    engine = Inline(cohort, np.full(len(cohort), epsilon), seeded(seed))
    return engine.run(terms.algorithm(OwnSample(public))).ensemble


def over_http(folder, database, seed):
    service = running(folder, database, rehearsal=seed)
    service.store.add_tokens(TOKENS)

    async def work(link):
        await join(joining(folder, RehearsalPart(seed)), link, TOKENS)
        return await link.call("GET", "/v1/model", None)

    return decode(open_model(driven(service, work).content)[0], SavedModel)


def test_the_model_is_that_of_one_process_byte_for_byte(tmp_path, any_database):
    folder = folder_of(tmp_path)
    (folder / "campaign.toml").write_text(
        (folder / "campaign.toml").read_text().replace("start = 45", "start = 60")
    )
    published = over_http(folder, any_database, SEED)
    assert "reproducible, not private" in published.guarantee.void
    assert encode(published.model) == encode(in_process(folder, SEED, 8.0))
    assert encode(published.model) != encode(in_process(folder, SEED + 1, 8.0))


def test_neither_end_rehearses_with_one_that_does_not(tmp_path):
    folder = folder_of(tmp_path)

    async def greeted(service, part):
        async with client_of(service.app) as client:
            return await joining(folder, part).members(Link([client]))

    with pytest.raises(ValueError, match="give --rehearsal for a rehearsal, and only then"):
        asyncio.run(greeted(running(folder, rehearsal=SEED), None))
    with pytest.raises(ValueError, match="give --rehearsal for a rehearsal, and only then"):
        asyncio.run(greeted(running(folder, f"sqlite:///{folder}/other.db"), RehearsalPart(SEED)))
    assert not (folder / "owner" / "pins").exists()  # nothing was pinned on the way


def test_a_rehearsal_stays_on_this_machine_and_away_from_real_ledgers(tmp_path):
    folder = folder_of(tmp_path)
    service = running(folder, rehearsal=SEED)

    async def greeted(host, part):
        async with client_of(service.app) as client:
            client.base_url = f"https://{host}"
            return await joining(folder, part).members(Link([client]))

    with pytest.raises(ValueError, match="must stay on this machine"):
        asyncio.run(greeted("example.org", RehearsalPart(SEED)))
    asyncio.run(greeted("localhost", RehearsalPart(SEED)))
    from tacit.owner.gate import Gate
    from tacit.service.device.home import Home
    from tests.owner.made import KEY, SCHEMA, policy, question, rows

    # a release to a campaign that is no rehearsal
    made = Gate(
        rows(), ["me"], SCHEMA, policy(), Home.at(folder / "owner").ledger, KEY.public_key()
    )
    made.answer(question())
    with pytest.raises(ValueError, match="the ledger of a real owner"):
        asyncio.run(greeted("localhost", RehearsalPart(SEED)))


def test_the_gate_of_a_rehearsal_answers_nothing_else(tmp_path):
    from tacit.owner.gate import RefusedError
    from tacit.owner.ledger import Ledger
    from tacit.service.device.join import RehearsalGate
    from tests.owner.made import KEY, SCHEMA, policy, question, rows

    ledger = Ledger(tmp_path / "ledger.db", tmp_path / "mark")
    made = RehearsalGate(
        rows(), ["me"], SCHEMA, policy(), ledger, key=KEY.public_key(), part=RehearsalPart(SEED)
    )
    with pytest.raises(RefusedError, match="not private"):
        made.answer(question())
    assert ledger.entries() == []
    assert made.answer(question(campaign="rehearsal: reproducible, not private: x"))
