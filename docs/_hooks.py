"""Pages that are made while the documentation is built: notebooks, proof notes, the command line,
the repository's own texts; colours of code, and what search looks through.

Links of pages to files outside of docs/ lead to copies of texts, and become plain names where the
file is code.
"""

import json
import posixpath
import re
from pathlib import Path
from typing import Any

from _notebooks import notebooks, page_of, title_of
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page
from pygments.formatters import HtmlFormatter

ROOT = Path(__file__).parent.parent
TEXTS = ("CONTRIBUTING.md", "CHANGELOG.md")
_LINK = re.compile(r"\[([^\]]*)\]\(([^)#\s]+)(#[^)\s]*)?\)")


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Fill the menu's notebooks with those that there are."""
    for entry in config.nav or []:
        if "Notebooks" in entry:
            entry["Notebooks"] = [
                {title_of(path): f"notebooks/{path.stem}.md"} for path in notebooks()
            ]
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add notebooks, copies of the proof notes and other texts, and the page of commands."""
    for path in (*sorted((ROOT / "src").rglob("*.md")), *(ROOT / name for name in TEXTS)):
        files.append(File.generated(config, copied(path), content=path.read_text(encoding="utf-8")))
    for path in notebooks():
        files.append(File.generated(config, f"notebooks/{path.stem}.md", content=page_of(path)))
    files.append(File.generated(config, "reference/commands.md", content=commands()))
    files.append(File.generated(config, "_code.css", content=code_colours()))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Lead links to the rest of the repository to where they are in the documentation."""
    here = origin(page.file.src_uri)

    def led(match: re.Match[str]) -> str:
        text, target, anchor = match[1], match[2], match[3] or ""
        path = (here.parent / target).resolve()
        if ":" in target or not (path.is_relative_to(ROOT) and path.exists()):
            return match[0]  # elsewhere, or nowhere: mkdocs complains about the latter
        inside = (
            path.relative_to(ROOT / "docs").as_posix()
            if path.is_relative_to(ROOT / "docs")
            else copied(path)
        )
        if path.suffix == ".ipynb" and not page.file.src_uri.startswith("notebooks/"):
            inside = inside.removesuffix("ipynb") + "md"  # the page that is made of it
        if files.get_file_from_path(inside) is None:
            return f"`{text.strip('`')}`"
        way = posixpath.relpath(inside, posixpath.dirname(page.file.src_uri) or ".")
        return f"[{text}]({way}{anchor})"

    return _LINK.sub(led, markdown)


def on_post_build(config: MkDocsConfig) -> None:
    """Write what search looks through as a script: files of a folder cannot be fetched."""
    folder = Path(config.site_dir) / "search"
    found = json.loads((folder / "search_index.json").read_text(encoding="utf-8"))["docs"]
    entries = json.dumps(found, ensure_ascii=False, separators=(",", ":"))
    (folder / "entries.js").write_text(f"window.searchEntries = {entries};\n", encoding="utf-8")
    (folder / "search_index.json").unlink()


def code_colours() -> str:
    """Colours of code by day and by night."""
    day = HtmlFormatter(style="friendly").get_style_defs(".highlight")
    night = HtmlFormatter(style="github-dark").get_style_defs(".highlight")
    return f"{day}\n@media (prefers-color-scheme: dark) {{\n{night}\n}}\n"


def copied(path: Path) -> str:
    """Where a text of the repository is in the documentation."""
    return "notes/" + path.relative_to(ROOT).as_posix().removeprefix("src/tacit/").replace("/", "-")


def origin(uri: str) -> Path:
    """The file that a page comes from."""
    for path in (*(ROOT / "src").rglob("*.md"), *(ROOT / name for name in TEXTS)):
        if copied(path) == uri:
            return path
    return ROOT / "docs" / uri


def commands() -> str:
    """The reference of the command line, from the commands themselves."""
    import typer.main

    from tacit.cli import app

    root = typer.main.get_command(app)
    lines = [
        "# Command line",
        "",
        "Made from the commands themselves; `tacit COMMAND --help` says the same.",
        "",
    ]
    describe(root, "tacit", lines)
    return "\n".join(lines)


def describe(command: Any, name: str, lines: list[str]) -> None:
    """Help, arguments and options of a command, then those of its commands."""
    context = command.context_class(command, info_name=name)
    if name != "tacit":
        lines += [f"{'#' * (name.count(' ') + 1)} {name}", "", plain(command.help or ""), ""]
        _, _, example = (command.epilog or "").partition("Example:\n")
        lines += ["```sh", example, "```", ""] if example else []
    rows = [row for row in map(parameter, command.get_params(context)) if row]
    if rows:
        lines += ["| | | default |", "|---|---|---|", *rows, ""]
    for each in getattr(command, "list_commands", lambda context: [])(context):
        describe(command.get_command(context, each), f"{name} {each}", lines)


def parameter(parameter: Any) -> str:
    """One row of a table; nothing for --help, which all have."""
    if parameter.name == "help":
        return ""
    names = ", ".join((*parameter.opts, *parameter.secondary_opts))
    if parameter.param_type_name == "argument":
        names = str(parameter.name).upper()
    default = (
        "required"
        if parameter.required
        else ""
        if parameter.default in (None, False, ())
        else parameter.default
    )
    shown = "" if callable(default) else str(default)
    return f"| `{names}` | {plain(getattr(parameter, 'help', '') or '')} | {plain(shown)} |"


def plain(text: str) -> str:
    """Help as Markdown takes it, in a table too."""
    return " ".join(text.replace("\b", "").split()).replace("|", "\\|").replace("<", "&lt;")
