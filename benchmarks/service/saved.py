"""The coordinator's page as one file that needs nobody: style inside, no script, no steering,
and what was checked.
"""

import base64
import re
from html import escape

from tacit.service.protocol.web import static_files

_GONE = (
    r"<script\b[^>]*></script>\n?",
    r"<noscript>.*?</noscript>\n?",
    r'<section aria-labelledby="steer"[^>]*>.*?</section>\n?',
    r'<p id="links".*?</p>\n?',
)


def saved(page: str, checks: list[str]) -> str:
    """`page` with its style and picture inside, and `checks` before everything else."""
    files = static_files("tacit.render")
    for pattern in _GONE:
        page = re.sub(pattern, "", page, flags=re.DOTALL)
    style = f"<style>{files['tacit.css'][1].decode()}</style>"
    icon = "data:image/svg+xml;base64," + base64.b64encode(files["icon.svg"][1]).decode()
    page = page.replace('<link rel="stylesheet" href="/static/tacit.css">', style).replace(
        "/static/icon.svg", icon
    )
    lines = "".join(f"<li>{escape(line)}</li>" for line in checks)
    heading = '<h2 id="checked">What was checked</h2>'
    section = (
        f'<section aria-labelledby="checked" class="promise">{heading}<ul>{lines}</ul></section>'
    )
    return page.replace(
        '<main id="main" tabindex="-1">', f'<main id="main" tabindex="-1">\n{section}'
    )
