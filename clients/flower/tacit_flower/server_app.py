"""The end of the data user."""

from tacit.service.flower import server as app

__all__ = ["app"]
