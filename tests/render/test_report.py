import re
import xml.etree.ElementTree as ET
from dataclasses import replace
from html.parser import HTMLParser

import pytest

from tacit.render.document import Chart, Document, Line, Section, Table
from tacit.render.drawing import draw
from tacit.render.pages import (
    _figure_of,
    markdown_of,
    page_of,
    write_page,
    write_pictures,
    write_report,
)
from tests.browser import browser, watched
from tests.render.made import CURVES, DOCUMENT, EVIL, OWNERS

PAGE = page_of(DOCUMENT)
ONE_CHART = Document("One chart", "", (Section("Chart", "", (CURVES,)),))


class Reader(HTMLParser):
    """Tags with their attributes, and whether all were closed in order."""

    VOID = frozenset({"meta", "link", "img"})

    def __init__(self):
        super().__init__()
        self.open, self.seen = [], []

    def handle_starttag(self, tag, attrs):
        self.seen.append((tag, dict(attrs)))
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.seen.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def read():
    reader = Reader()
    reader.feed(PAGE)
    assert not reader.open
    return reader.seen


def test_the_page_needs_nothing_else_and_runs_nothing():
    seen = read()
    assert not {"script", "iframe", "object", "embed"} & {tag for tag, _ in seen}
    for _, attributes in seen:
        for name in ("src", "href"):
            assert attributes.get(name, "data:").startswith(("data:", "#"))
        assert not any(name.startswith("on") for name in attributes)
    assert not re.search(r"url\(|@import", PAGE)
    assert EVIL not in PAGE
    assert "default-src 'none'" in next(a["content"] for tag, a in seen if "http-equiv" in a)


def test_charts_speak_to_those_who_cannot_see_them():
    charts = [a for tag, a in read() if tag == "svg" and a.get("class") == "chart"]
    assert len(charts) == 3
    assert all(a["role"] == "img" and a["aria-label"] for a in charts)
    assert PAGE.count("<summary>The same as a table</summary>") == 3
    assert "<title>tacit, epsilon 0.025: 1.9 ± 0.3</title>" in PAGE
    for drawn in re.findall(r"<svg.*?</svg>", PAGE, flags=re.S):
        ET.fromstring(drawn)  # noqa: S314 - our own


def test_ids_are_there_once_and_links_lead_to_them():
    seen = read()
    ids = [a["id"] for _, a in seen if "id" in a]
    assert len(ids) == len(set(ids))
    for _, attributes in seen:
        if attributes.get("href", "").startswith("#"):
            assert attributes["href"][1:] in ids


def test_an_empty_document_is_a_page_too(tmp_path):
    write_page(Document("Nothing", "", ()), tmp_path / "new" / "empty.html")
    assert "<h1>Nothing</h1>" in (tmp_path / "new" / "empty.html").read_text()


def test_notebooks_show_reports_and_charts_in_frames_that_run_nothing(shown):
    for part, words in ((DOCUMENT, DOCUMENT.title), (CURVES, "Error against epsilon")):
        frame = part._repr_html_()
        assert frame.count("<") == 2  # the frame's own: the page inside is escaped
        assert " sandbox " in frame
        page, wrong = watched(shown[0], "about:", viewport={"width": 800, "height": 900})
        page.set_content(frame)
        inside = page.frame_locator("iframe")
        inside.get_by_role("heading", name=words).first.wait_for()
        assert inside.locator("svg.chart").first.is_visible()
        assert inside.locator("html").evaluate("(root) => root.scrollWidth") <= 800
        assert wrong == []


def test_markdown_says_the_same_and_escapes():
    text = markdown_of(DOCUMENT)
    assert "# Four hospitals" in text
    assert "| 0.025 | 1.9 ± 0.3 | 8.2 ± 2.7 | 8.9 | 9 | 1.85 ± 0.2 |" in text
    assert "| **ours** | **1.8** | **1.7** |" in text
    assert "    tacit reproduce c --seed 1" in text
    assert "<script>" not in text
    assert r"\*\*bold\*\* \| \`code\`" in text
    rows = [line for line in text.splitlines() if line.startswith("| \\<script")]
    assert [len(re.findall(r"(?<!\\)\|", row)) for row in rows] == [4]


@pytest.mark.parametrize("place", [10, 100, 788, 1e7])
def test_one_place_on_a_scale_of_powers_has_room(place):
    """matplotlib leaves it the last digit of a float, or none, by the machine's logarithm."""
    line = Line("measured", (place,), (0.4,), (0.2,))
    axis = _figure_of(replace(OWNERS, lines=(line,))).axes[0]
    low, high = axis.get_xlim()
    assert 2 * low <= place <= high / 2


def test_pictures_are_drawn_twice_alike(tmp_path):
    (first,), (second,) = (write_pictures(ONE_CHART, tmp_path / name).values() for name in "ab")
    assert first.name == "01-error-against-epsilon.png"
    assert first.read_bytes().startswith(b"\x89PNG")
    assert first.with_suffix(".svg").read_bytes() == second.with_suffix(".svg").read_bytes()


@pytest.mark.parametrize("scale", ["log", "linear"])
def test_pictures_and_pages_have_the_same_axis(scale):
    lines = Line("a", (1, 2, 3), (47.3, 51.0, 58.2), (3.0, 0.1, 4.0)), Line("b", (), (61.7,))
    chart = Chart("same", "x", "y", lines, y_scale=scale)
    axis = _figure_of(chart).axes[0]
    drawing = draw(chart)
    shown = [label.get_text() for label in axis.get_yticklabels()]
    assert shown == [tick.text for tick in drawing.rows]
    low, high = axis.get_ylim()
    assert (low, high) == (axis.get_yticks()[0], axis.get_yticks()[-1])
    assert low <= 44.3
    assert high >= 62.2


def test_a_report_without_matplotlib_has_its_page(tmp_path, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "matplotlib", None)
    assert not write_report(DOCUMENT, tmp_path)
    assert {path.name for path in tmp_path.iterdir()} >= {"report.html", "report.md"}
    assert "![" not in (tmp_path / "report.md").read_text()


@pytest.mark.parametrize("scale", ["log", "linear"])
def test_a_chart_of_one_place_is_drawn_without_a_word(tmp_path, scale):
    """As a quick run has it; what matplotlib warns of is an error here."""
    lines = tuple(Line(name, (100,), (3.0,), (0.5,)) for name in "ab")
    chart = Chart("one", "records", "error", lines, x_scale=scale)
    document = Document("t", "l", (Section("s", parts=(chart,)),))
    assert [path.stat().st_size > 0 for path in write_pictures(document, tmp_path).values()]


def test_a_whole_report_links_its_pictures(tmp_path):
    assert write_report(DOCUMENT, tmp_path)
    links = re.findall(r"!\[[^]]*\]\(([^)]+)\)", (tmp_path / "report.md").read_text())
    assert len(links) == 3
    assert all((tmp_path / link).is_file() for link in links)


@pytest.fixture(scope="module")
def shown(tmp_path_factory):
    path = tmp_path_factory.mktemp("report") / "report.html"
    write_page(DOCUMENT, path)
    with browser() as running:
        yield running, path.as_uri()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [360, 1200])
def test_it_fits_and_can_be_read_in_a_browser(shown, scheme, width):
    running, url = shown
    page, wrong = watched(
        running, url, viewport={"width": width, "height": 800}, color_scheme=scheme, offline=True
    )
    page.goto(url)
    wide, inner = page.evaluate("[document.documentElement.scrollWidth, innerWidth]")
    assert wide <= inner
    outside = page.evaluate("""() => [...document.querySelectorAll("svg.chart")].filter(svg => {
        const sheet = svg.getBoundingClientRect();
        return [...svg.querySelectorAll("text")].some(text => {
            const box = text.getBoundingClientRect();
            return box.width && (box.left < sheet.left - 12 || box.right > sheet.right + 12);
        });
    }).length""")
    assert outside == 0
    overlap = page.evaluate("""() => [...document.querySelectorAll("svg.chart")].filter(svg => {
        const boxes = [...svg.querySelectorAll("text:not(.axis)[text-anchor=middle]")]
            .map(text => text.getBoundingClientRect()).filter(box => box.width);
        return boxes.some((box, place) => place && box.left < boxes[place - 1].right);
    }).length""")
    assert overlap == 0
    page.locator("summary").first.click()
    assert page.locator("details table").first.is_visible()
    assert wrong == []


@pytest.mark.parametrize("width", [360, 1200])
def test_charts_of_the_same_lines_stand_side_by_side_under_one_legend(shown, width):
    again = replace(CURVES, title="The same again")
    other = replace(CURVES, title="One line", lines=CURVES.lines[:1])
    document = Document("Three", "", (Section("All", "", (CURVES, again, other)),))
    text = page_of(document)
    assert text.count('<ul class="legend">') == 2  # of the first two, and of the last
    page, wrong = watched(shown[0], "about:", viewport={"width": width, "height": 900})
    page.set_content(text)
    tops = page.evaluate(
        "[...document.querySelectorAll('.panel')].map(panel => panel.getBoundingClientRect().top)"
    )
    assert len(tops) == 2
    assert (tops[0] == tops[1]) == (width == 1200)
    assert wrong == []


def test_a_folded_table_is_one_line_until_it_is_opened(shown):
    table = Table("Those left out", ("where", "why"), (("here", "no rows"),), folded="1 left out")
    document = Document("Folded", "", (Section("All", "", (table,)),))
    page, _ = watched(shown[0], "about:", viewport={"width": 800, "height": 900})
    page.set_content(page_of(document))
    assert not page.get_by_role("table").is_visible()
    page.get_by_text("1 left out").click()
    assert page.get_by_role("table").is_visible()
    assert "| here | no rows |" in markdown_of(document)
