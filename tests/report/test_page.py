"""The page: complete, well formed, and nothing that came with the data can break it."""

import html
import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest

import keyhole as kh
from keyhole.report import Run, record, write
from keyhole.report.page import page

VOID = {"meta", "link", "br", "img", "hr", "input"}


class Outline(HTMLParser):
    """Tags in order, texts, ids; and a complaint if a tag is not closed where it should be."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str]] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += [(name, value or "") for name, value in attrs]
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += [(name, value or "") for name, value in attrs]

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


def outline(text: str) -> Outline:
    found = Outline()
    found.feed(text)
    found.close()
    assert found.open == []
    return found


@pytest.fixture(scope="module")
def text(run: Run) -> str:
    return page(run)


def test_the_page_is_well_formed_and_has_every_part(text: str) -> None:
    found = outline(text)
    assert found.tags.count("svg") == 9
    for heading in (
        "Findings",
        "How good it is",
        "Predicted and actual",
        "Error over time",
        "Residuals over time",
        "Loss over time",
        "Regret",
        "Which features were bought when",
        "Life lines of what is played",
        "Weights",
        "Advice",
        "The model in numbers",
        "Diagnosis",
        "To repeat it",
    ):
        assert re.search(f"<h[23]>{heading}</h[23]>", text)
    assert "Which guarantees of the paper apply" in text
    assert len(text) < 1_500_000


def test_nothing_of_the_data_becomes_markup(text: str, run: Run) -> None:
    found = outline(text)
    assert not {"script", "img", "b", "i", "iframe", "link"} & set(found.tags)
    assert not [name for name, _ in found.attributes if name.startswith("on")]
    assert run.title in found.text
    assert "alert(1)" in found.text
    assert "{{ 7 * 7 }}{% raw %}" in found.text
    assert "<i>no</i>" in found.text
    for j in run.support:
        assert run.problem.label(int(j)) in found.text


def test_nothing_comes_from_elsewhere(text: str) -> None:
    found = outline(text)
    linked = [v for name, v in found.attributes if name in {"src", "href", "xlink:href", "style"}]
    assert not [value for value in linked if re.search(r"//|url\((?!#)", value)]
    assert all(v.startswith(("#", "data:image/png")) for n, v in found.attributes if "href" in n)
    assert "default-src 'none'" in text
    assert "@import" not in text


def test_ids_are_unique_and_references_lead_somewhere(text: str) -> None:
    found = outline(text)
    ids = [value for name, value in found.attributes if name == "id"]
    assert len(ids) == len(set(ids))
    used = re.findall(r"url\(#([^)]+)\)", text) + re.findall(r'href="#([^"]+)"', text)
    assert used
    assert set(used) <= set(ids)


def test_pictures_take_the_colours_of_the_page(text: str) -> None:
    body = text[text.index("<body>") :]
    drawings = re.findall(r"<svg.*?</svg>", body, flags=re.DOTALL)
    assert len(drawings) == 9
    for drawing in drawings:
        colours = set(re.findall(r"(?:fill|stroke|stop-color): *(#\w+)", drawing))
        assert not colours - {"#ffffff"}  # behind clip paths, never seen
        assert "currentColor" in drawing
        assert re.match(r'<svg[^>]*role="img" aria-label="[A-Z][a-z ]+"', drawing)
        assert "viewBox" in drawing
        assert "<text" in drawing


def test_the_run_can_be_repeated_from_the_page(text: str, run: Run) -> None:
    told = outline(text).text
    end = told[told.index("To repeat it") :]
    for version in run.versions.values():
        assert version in end
    assert {"keyhole", "python", "numpy", "scipy"} <= set(run.versions)
    for words in ("days & nights", "auto", "seed", "proper", "keyhole run '<file>.csv'"):
        assert words in end
    pairs = re.findall(r"<dt><bdi>(.*?)</bdi></dt><dd><bdi>(.*?)</bdi></dd>", text)
    settings = {html.unescape(name): html.unescape(value) for name, value in pairs}
    assert settings["seed"] == "7"
    assert settings["budget, everything read for one example"] == "4"
    assert settings["sparsity k"] == "2"


def test_numbers_are_those_of_the_run(text: str, run: Run) -> None:
    assert f">{run.saved:.0%}<" in text
    assert f">{run.later_r2:.3f}<" in text
    assert f"<td>{run.best.r2:.3f}</td>" in text
    assert "700" in text


def test_an_interval_stays_an_interval(run: Run) -> None:
    loss = kh.Interval(run.best.loss.low / 2, run.best.loss.high, "stopped")
    lower = replace(run.regret, high=run.regret.high * 1.5)
    text = page(replace(run, best=replace(run.best, loss=loss), regret=lower))
    assert re.search(r">\S+ to \S+<", text)
    assert "what is not known of the best" in text


@pytest.mark.usefixtures("blank_pictures")
def test_without_diagnosis_and_command_the_parts_are_left_out(run: Run) -> None:
    text = page(replace(run, diagnosis=None, command="", notes=("Left <out>.",)))
    assert "Diagnosis" not in text
    assert "<pre" not in text
    assert "Left &lt;out&gt;." in text
    outline(text)


def test_one_round_makes_a_page() -> None:
    stream = kh.streams.ArrayStream([[1.0, 2.0]], [3.0])
    outline(page(record(kh.RandomSubset(kh.Problem(2, 1, 1)), stream)))


def test_a_file_is_whole_or_as_it_was(
    run: Run, text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "out.html"
    write(run, path)
    before = path.read_bytes()
    assert before.decode("utf-8").startswith("<!doctype html>")
    assert before == text.encode()  # the same run, the same bytes
    monkeypatch.setattr("keyhole.report.page.page", lambda run: "other")
    with pytest.raises(kh.DataError, match="cannot write"):
        write(run, tmp_path / "nowhere" / "out.html")
    monkeypatch.undo()
    monkeypatch.setitem(__import__("sys").modules, "jinja2", None)
    monkeypatch.setattr("keyhole.report.page._pictures", lambda run: [])
    with pytest.raises(kh.MissingExtraError, match=r"keyhole\[report\]"):
        write(run, path)
    assert path.read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == ["out.html"]


@pytest.mark.usefixtures("blank_pictures")
def test_the_best_beside_the_past_has_a_row_where_it_was_searched_for(text: str, run: Run) -> None:
    row, words = (
        "<bdi>best 2 features in hindsight and the past</bdi>",
        "The past: the last two labels",
    )
    assert row in text
    assert words in text
    without = page(replace(run, best_with_past=None))
    assert row not in without
    assert words not in without


@pytest.mark.usefixtures("blank_pictures")
def test_the_curve_that_sizes_were_chosen_from(run: Run) -> None:
    curve = kh.budget_curve(kh.streams.clinic(300).stream, most=6)
    text = page(replace(run, curve=curve))
    assert text.count("<svg") == page(run).count("<svg") + 1
    assert "How many features to buy" in text
    assert curve.recommendation in text
    assert "How many features to buy" not in page(run)


def test_advice_is_a_table_with_bars_and_sentences(text: str, run: Run) -> None:
    assert run.advice is not None
    section = text[text.index("<h2>Advice</h2>") :].split("</section>")[0]
    found = outline(section)
    assert found.tags.count("tr") == 1 + len(run.advice.kept) > 1
    for worth in run.advice.kept:
        assert worth.name in found.text
        assert f"{100.0 * worth.lost:.1f} %" in found.text
    for sentence in run.advice.sentences:
        assert sentence in found.text
    widths = [float(w) for w in re.findall(r"width: ([\d.]+)%", section)]
    ends = [
        float(a) + float(b) for a, b in re.findall(r"left: ([\d.]+)%; width: ([\d.]+)", section)
    ]
    assert len(widths) == 2 * len(ends) == 2 * len(run.advice.kept)
    assert max(ends) == pytest.approx(100.0, abs=0.11)


@pytest.mark.usefixtures("blank_pictures")
def test_weights_have_errors_and_shares_where_they_are_known(text: str, run: Run) -> None:
    model = run.sparse
    assert model.errors is not None
    assert run.shares is not None

    def table(page: str) -> str:
        return page[page.index("<h2>The model in numbers</h2>") :].split("</section>")[0]

    section = table(text)
    assert "<th>±</th><th>in the model</th>" in section
    for j, error in zip(model.features.tolist(), model.errors, strict=True):
        assert f"<td>{error:.2g}</td><td>{run.shares[j]:.0%}</td>" in section
    rows = [row.count("<td>") for row in section.split("</tr>")[1:-1]]
    assert set(rows) == {section.split("</tr>")[0].count("</th>")}
    plain = table(page(replace(run, sparse=replace(model, errors=None), shares=None)))
    assert "±" not in plain
    assert "in the model" not in plain.lower()
    assert {row.count("<td>") for row in plain.split("</tr>")[1:-1]} == {rows[0] - 2}


@pytest.mark.usefixtures("blank_pictures")
def test_who_does_not_advise_has_no_such_section(run: Run) -> None:
    assert "<h2>Advice</h2>" not in page(replace(run, advice=None))


@pytest.mark.usefixtures("blank_pictures")
def test_advice_without_anything_kept_is_a_sentence(run: Run) -> None:
    nothing = kh.AutoLearner(kh.Problem(8, 2, 4)).advice()
    section = page(replace(run, advice=nothing)).split("<h2>Advice</h2>")[1].split("</section>")[0]
    assert "Nothing is known to be useful yet, so no advice." in section
    assert "<table" not in section
