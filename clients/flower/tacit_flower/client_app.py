"""The end of an owner, for nodes that run what is sent. An owner's own node does not."""

from tacit.service.flower import client as app

__all__ = ["app"]
