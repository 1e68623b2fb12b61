"""A database with a campaign in it."""

import pytest

from tacit.service.coordinator.store import Store


@pytest.fixture
def store(database):
    made = Store(database)
    made.create_or_resume("trial", b"terms", b"key")
    yield made
    made.close()
