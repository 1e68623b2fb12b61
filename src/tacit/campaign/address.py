"""Addresses of services: TLS, unless it is this machine."""

import ssl
from pathlib import Path
from urllib.parse import urlsplit

LOOPBACK = ("localhost", "127.0.0.1", "::1")


def checked_url(name: str, url: str) -> str:
    """`url`, if it begins with https://; plain http is for loopback only.

    >>> checked_url("url", "http://127.0.0.1:8000")
    'http://127.0.0.1:8000'
    """
    parts = urlsplit(url)
    if parts.scheme != "https" and not (parts.scheme == "http" and parts.hostname in LOOPBACK):
        raise ValueError(f"{name} must begin with https:// (http:// only on this machine), got {url!r}")
    return url


def trust(authority: Path | None) -> ssl.SSLContext | bool:
    """Whom to believe: the certificate given, else those that the machine trusts."""
    return True if authority is None else ssl.create_default_context(cafile=str(authority))
