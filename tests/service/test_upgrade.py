"""A running campaign's database brought to this release and back, with a kill -9 in the middle:
nothing is lost, and the model is the same.
"""

import asyncio
import os
import signal
import subprocess
import sys

from tacit.estimators.persistence import SavedModel
from tacit.service.coordinator import tables
from tacit.service.coordinator.store import Store
from tacit.service.device.join import RehearsalPart
from tacit.wire import decode, encode
from tests.service.coordinator.made import folder_of, joining
from tests.service.coordinator.test_rehearsal import in_process
from tests.service.test_rotation import OWNERS, SEED, Stage

# killed when the tables of a step are there and its number is about to be written down
KILLED = """
import os, signal, sys
from alembic.runtime.migration import HeadMaintainer
from tacit.service.coordinator import tables
from tacit.service.coordinator.store import Store
HeadMaintainer.update_to_step = lambda self, step: os.kill(os.getpid(), signal.SIGKILL)
store = Store(sys.argv[1])
with store.transaction() as connection:
    tables.upgrade(connection)
"""


def test_a_release_goes_back_and_forth_under_a_running_campaign_and_is_killed(tmp_path, database):
    folder = folder_of(tmp_path)
    file = folder / "campaign.toml"
    file.write_text(file.read_text().replace("start = 45", f"start = {OWNERS}"))
    stage = Stage(folder, database, most=6, rehearsal=SEED)

    async def there_and_back(stage):
        """Back to the oldest tables, killed on the way here; the coordinator takes it anew."""
        store = Store(database)
        with store.transaction() as connection:
            tables.downgrade(connection)
            assert tables.version(connection) == tables.BEFORE
        store.close()
        words = [sys.executable, "-c", KILLED, database]
        killed = await asyncio.to_thread(subprocess.run, words, env=os.environ, check=False)
        assert killed.returncode == -signal.SIGKILL
        store = Store(database)
        with store.transaction() as connection:
            assert tables.version(connection) == tables.BEFORE
        store.close()

    owners = joining(folder, RehearsalPart(SEED))
    tokens = [f"token number {i:04d}" for i in range(OWNERS)]
    answered, counts, (model, _) = asyncio.run(stage.run(owners, tokens, there_and_back))
    assert answered == sum(heard for _, heard in counts)
    assert all(invited == heard for invited, heard in counts)
    assert encode(decode(model, SavedModel).model) == encode(in_process(folder, SEED, 8.0))
