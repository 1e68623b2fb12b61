"""A real browser for tests: TACIT_CHROMIUM, else what is on the PATH; without one the tests say
so and skip.
"""

import os
import shutil
from contextlib import contextmanager

import pytest

_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
_QUIET = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
)


_PATIENCE = 120_000  # milliseconds for a page, on a machine where much else runs, too


def found() -> str:
    named = os.environ.get("TACIT_CHROMIUM")
    path = named or next(filter(None, map(shutil.which, _NAMES)), None)
    if path is None:
        pytest.skip(
            f"no browser: none of {', '.join(_NAMES)} is on the PATH, and TACIT_CHROMIUM names none"
        )
    return path


@contextmanager
def browser():
    """Headless Chromium, driven by Playwright."""
    path = found()
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=path, args=list(_QUIET))
        try:
            yield running
        finally:
            running.close()


def watched(running, url, **options):
    """A page, and what went wrong on it: console errors, exceptions, requests to other hosts."""
    page = running.new_context(**options).new_page()
    page.set_default_timeout(_PATIENCE)
    wrong: list[str] = []
    page.on(
        "console",
        lambda message: (
            wrong.append(message.text) if message.type in ("error", "warning") else None
        ),
    )
    page.on("pageerror", lambda problem: wrong.append(str(problem)))
    page.on(
        "request",
        lambda request: None if request.url.startswith(url) else wrong.append(request.url),
    )
    return page, wrong
