"""What everybody may see of a campaign: its status, its page, and the description of its routes."""

import json
from typing import Any

from tacit.campaign.terms import CampaignTerms
from tacit.coordinator.store import Store
from tacit.wire import decode


def status(store: Store) -> dict[str, Any]:
    """The campaign in figures: nothing here is about anybody's rows."""
    standing = store.standing()
    terms = decode(standing.terms, CampaignTerms)
    outcomes = store.outcomes()
    asked = []
    for question in store.questions():
        invited, heard = store.counts(question.number)
        asked.append(
            {
                "number": question.number,
                "state": question.state,
                "invited": invited,
                "counted": heard,
                "outcomes": outcomes.get(question.number, {}),
                "opened": question.opened,
                "deadline": question.deadline,
            }
        )
    return {
        "name": standing.name,
        "state": standing.state,
        "ended": standing.ended,
        "owners": store.enrolled(),
        "learner": terms.learner.name,
        "mechanism": terms.terms.mechanism,
        "epsilons": list(terms.terms.epsilons),
        "rounds": terms.rounds,
        "questions": asked,
        "strangers": outcomes.get(0, {}),
        "progress": json.loads(standing.progress),
    }


def page(store: Store) -> str:
    """The campaign for people."""
    figures = status(store)
    return f"<!doctype html><title>{figures['name']}</title><pre>{json.dumps(figures, indent=2)}</pre>"


def openapi() -> dict[str, Any]:
    """The routes, as OpenAPI 3.1."""
    return {"openapi": "3.1.0", "info": {"title": "tacit coordinator", "version": "1"}, "paths": {}}
