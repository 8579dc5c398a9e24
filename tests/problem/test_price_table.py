"""Price lists: what is read is what was written, and every mistake is one clear line."""

import csv
import io
import itertools
import os
import re
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import keyhole as kh
from keyhole.problem.price_file import AmountParser
from keyhole.problem.prices import price_list
from keyhole.streams import read

HEAD = "feature,price,panel\n"
BAD: dict[str, tuple[str | bytes, str]] = {
    "empty": ("", "p.csv is empty: its first line names the columns, feature,price,panel"),
    "blank": ("\ufeff\n  \n,,\n", "p.csv is empty"),
    "comments only": ("# nothing\n#\n", "p.csv is empty"),
    "header only": (HEAD, "p.csv has columns but no rows: add one for every feature"),
    "unknown column": (
        "feature,prise,panel\nage,0,\n",
        "line 1: a price list has no column 'prise' (did you mean 'price'?): its columns are",
    ),
    "no header": ("age,0,\ncrp,1,\n", "line 1: a price list has no column 'age'"),
    "no price column": ("feature,panel\na,\n", "line 1: there is no column 'price'"),
    "no feature column": ("price;panel\n1;\n", "line 1: there is no column 'feature'"),
    "one column": ("feature\nage\n", "line 1: there is no column 'price'"),
    "a column twice": ("feature,price,Price\na,1,1\n", "the column 'price' comes twice"),
    "no price": (HEAD + "age,,\n", "line 2: 'age' has no price: write it, 0 if it is free"),
    "no price, short": (HEAD + "a,1\nage\n", "line 3: 'age' has no price"),
    "no feature": (HEAD + "a,1\n,5,\n", "line 3: ['', '5'] has no feature: name what it is"),
    "negative": (HEAD + "# x\na,-3\n", "line 3: the price of 'a' is negative, got '-3'"),
    "negative in euros": (HEAD + "a,€ −3\n", "line 2: the price of 'a' is negative"),
    "nan": (HEAD + "a,NaN\n", "line 2: the price of 'a' must be an amount such as 12.50, 0 if"),
    "infinite": (HEAD + "a,inf\n", "line 2: the price of 'a' must be an amount"),
    "text": (
        HEAD + "a,free\n",
        "line 2: the price of 'a' must be an amount such as 12.50, 0 if it",
    ),
    "text and number": (HEAD + "a,about 5\n", "must be an amount such as 12.50, 0 if it is free"),
    "two numbers": (HEAD + "a,5 6\n", "must be an amount such as 12.50"),
    "underscore": (HEAD + "a,1_000\n", "must be an amount such as 12.50"),
    "two signs": (HEAD + "a,€5$\n", "must be an amount such as 12.50"),
    "unclear comma": (HEAD + 'a,"1,250"\n', "the price of 'a' can be 1250 or 1.250, got '1,250'"),
    "two currencies": (
        HEAD + "a,€5\nb,6\nc,$7\n",
        "line 4: the price of 'c' is in $, that of line 2 in €: use one currency",
    ),
    "point and comma": (
        HEAD + 'a,5.50\nb,"5,50"\n',
        "line 3: the price of 'b' is with a decimal comma, that of line 2 with a decimal point:",
    ),
    "decimals": (HEAD + "a,0.1234567891\n", "line 2: the price of 'a' has more than 9 decimals"),
    "digits": (HEAD + "a,1234567890123.456\n", "line 2: the price of 'a' has more than 15 digits"),
    "huge": (HEAD + "a,1e99\n", "line 2: the price of 'a' must be an amount of at least 0, and at"),
    "panel without fee": (
        HEAD + "bloood,4,\ncrp,2,blood\n",
        "line 3: panel 'blood' has no fee (did you mean 'bloood'?): add a row 'blood' with what it",
    ),
    "fee without amount": (HEAD + "blood,,\ncrp,2,blood\n", "line 2: panel 'blood' has no fee: wr"),
    "panel without member": (
        HEAD + "age,0,\nblood,4,blood\n",
        "line 3: panel 'blood' has no members: name it in the panel column of what it buys",
    ),
    "panel in a panel": (
        HEAD + "blood,4,lab\nlab,1,\ncrp,2,blood\n",
        "line 2: 'blood' is a panel: it is in no other one and needs nothing",
    ),
    "twice": (HEAD + "a,1\nb,1\na,2\n", "line 4: 'a' is on line 2 already: leave one of the two"),
    "too many cells": (
        HEAD + "a,12,50,blood\n",
        "line 2: 4 cells where the header has 3: put quotes around a cell that holds the separator",
    ),
    "needs itself": ("feature,price,needs\na,,a\n", "line 2: 'a' needs 'a', a circle: give one"),
    "needs in a circle": (
        "feature,price,needs\nx,1,\na,,b;x\nb,2,c\nc,,a\n",
        "line 3: 'a' needs 'b' needs 'c' needs 'a', a circle: give one of them a price, and",
    ),
    "needs a panel": (
        "feature,price,panel,needs\nblood,4,,\ncrp,2,blood,\nb,,,blood\n",
        "line 4: 'b' needs 'blood', which is a panel: name it in the panel column",
    ),
    "open quote": (HEAD + 'a,1,\n"b,2,\nc,3,\n', "are all quotes closed?"),
    "cell of two lines": (HEAD + 'a,1,\n"b\nc",2,\n', "line 4: a cell runs over several lines"),
    "latin-1": (b"feature,price\na,1\ncaf\xe9,2\n", "p.csv, line 3: not UTF-8: save the file as"),
    "utf-16": ("feature,price\n".encode("utf-16"), "p.csv is UTF-16 text: save it as CSV in UTF-8"),
    "spreadsheet": (b"PK\x03\x04rest", "p.csv is a spreadsheet or a zip archive: save it as CSV"),
}


def _file(folder: Path, content: str | bytes, name: str = "p.csv") -> Path:
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


@pytest.mark.parametrize("case", BAD)
def test_every_mistake_is_one_line_with_the_place_and_the_remedy(tmp_path: Path, case: str) -> None:
    content, message = BAD[case]
    with pytest.raises(kh.DataError, match=re.escape(message)) as caught:
        kh.read_prices(_file(tmp_path, content))
    text = str(caught.value)
    assert "\n" not in text
    assert text.startswith("p.csv")


def test_files_that_are_none(tmp_path: Path) -> None:
    _file(tmp_path, HEAD)
    bad: list[tuple[Any, str]] = [
        (tmp_path / "q.csv", f"there is no file {tmp_path / 'q.csv'} (did you mean 'p.csv'?)"),
        (tmp_path / "no" / "p.csv", "there is no file"),
        (tmp_path, f"{tmp_path} is a directory: name one file"),
        ("a\0b", "cannot be read: embedded null byte"),
        (7, "a price list is read from the path of a file, got 7"),
    ]
    for path, message in bad:
        with pytest.raises(kh.DataError, match=re.escape(message)) as caught:
            kh.read_prices(path)
        assert "\n" not in str(caught.value)


TOLERATED = [
    "feature,price,panel,needs\nage,0,,\nblood,4,,\ncrp,2.50,blood,\nalb,,blood,\nfti,,,crp;alb\n",
    "feature;price;panel;needs\nage;0;;\nblood;4;;\ncrp;2,50;blood;\nalb;;blood\nfti;;;'crp;alb'\n",
    "\ufeffFeature\tPrice\tPanel\tneeds\r\nage\t€0\r\nblood\t4 €\r\ncrp\t€ 2.50\tblood\r\n"
    "alb\t\tblood\r\nfti\t\t\t crp ; alb;\r\n",
    "# our list, 2026\n\nneeds,panel,price,feature\n,,$0,age\n  # lab\n,,$4.00,blood\n"
    ',blood,$2.50,crp\n,blood,,alb\n,,,,\n"crp;alb",,,fti\n',
    'price,feature,panel,needs,\n0,age,,,\nEUR 4,blood,,,\n"2,50 EUR",crp,blood,,\n'
    ",alb,blood;blood\n,fti,,crp;alb\n",
]


@pytest.mark.parametrize("text", TOLERATED)
def test_the_same_list_in_many_hands(tmp_path: Path, text: str) -> None:
    table = kh.read_prices(_file(tmp_path, text.replace("'", '"')))
    assert table == kh.PriceTable(
        {"age": 0, "crp": Decimal("2.5")},
        {"blood": (4, ["crp", "alb"])},
        {"fti": ["crp", "alb"]},
    )
    problem = kh.Problem(4, 1, 4, ["age", "crp", "alb", "fti"], prices=table)
    assert [problem.cost([j]) for j in range(4)] == [0.0, 6.5, 4.0, 6.5]


@pytest.mark.parametrize(
    ("text", "amount"),
    [
        ("12", "12"),
        ("12.5", "12.5"),
        (".5", "0.5"),
        ("5.", "5"),
        ("1e3", "1000"),
        ("12,5", "12.5"),
        ("0,125", "0.125"),
        ("12,3456", "12.3456"),
        ("1,250.50", "1250.50"),
        ("1.250,50", "1250.50"),
        ("1,250,000", "1250000"),
        ("1.250.000", "1250000"),
        ("1250,750", "1250.75"),
        ("£ 3", "3"),
        ("CHF 3", "3"),
        ("3\xa0kr", None),
        ("€€3", None),
        ("x3", None),
        ("1.2.3", None),
        ("1,2,3", None),
        ("٣", None),
        ("", None),
    ],
)
def test_amounts(text: str, amount: str | None) -> None:
    if amount is None:
        with pytest.raises(ValueError, match="must be an amount such as"):
            AmountParser().read(text, 1)
    else:
        assert AmountParser().read(text, 1) == Decimal(amount)


NAMES = st.sampled_from(["age", "tsh, total", "a;b", '5" pipe', "x=1", "größe", " odd ", "#7"])


@st.composite
def lists(draw: st.DrawFn) -> kh.PriceTable:
    """Price lists of up to 8 features and 2 panels."""
    names = draw(st.lists(NAMES.map(str.strip), min_size=1, unique=True))
    plain = [name for name in names if ";" not in name]
    cents = st.integers(0, 10**6).map(lambda c: Decimal(c).scaleb(-2))
    panels: dict[str, Any] = {}
    for panel in ("blood", "scan room"):
        members = draw(st.lists(st.sampled_from(names), unique=True))
        if members:
            panels[panel] = (draw(cents), members)
    joint = {m for _, members in panels.values() for m in members}
    derived: dict[str, list[str]] = {}
    rank = draw(st.permutations(names))
    for name in names:
        sources = [n for n in plain if rank.index(n) < rank.index(name)]  # no circles
        if draw(st.booleans()) and sources:
            derived[name] = draw(st.lists(st.sampled_from(sources), min_size=1, unique=True))
    prices = {n: draw(cents) for n in names if n not in joint | {*derived} or draw(st.booleans())}
    return kh.PriceTable(prices, panels, derived)


def _written(table: kh.PriceTable, separator: str) -> str:
    names = [*dict.fromkeys([*table.prices, *table.derived])]
    names += [m for _, members in table.panels.values() for m in members if m not in names]
    text = io.StringIO()
    writer = csv.writer(text, delimiter=separator, quoting=csv.QUOTE_ALL)
    writer.writerow(["feature", "price", "panel", "needs"])
    for name in dict.fromkeys(names):
        panels = ";".join(p for p, (_, members) in table.panels.items() if name in members)
        row = [name, table.prices.get(name, ""), panels, ";".join(table.derived.get(name, ()))]
        writer.writerow(row)
    writer.writerows([name, fee] for name, (fee, _) in table.panels.items())
    return text.getvalue()


@settings(deadline=None, max_examples=60)
@given(table=lists(), separator=st.sampled_from(",;\t"))
def test_what_was_written_is_read(
    table: kh.PriceTable, separator: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    found = kh.read_prices(_file(tmp_path_factory.mktemp("t"), _written(table, separator)))
    assert found.prices == table.prices
    assert found.derived == table.derived
    assert {n: (fee, {*m}) for n, (fee, m) in found.panels.items()} == {
        n: (fee, {*m}) for n, (fee, m) in table.panels.items()
    }


@settings(deadline=None, max_examples=60)
@given(table=lists())
def test_a_table_in_a_problem_costs_what_its_parts_cost(table: kh.PriceTable) -> None:
    joint = {m for _, members in table.panels.values() for m in members}
    names = tuple(sorted({*table.prices, *table.derived, *joint}))
    problem = kh.Problem(len(names), 1, 10**7, names, prices=table)
    apart = price_list(len(names), names, table.prices, table.panels, table.derived)
    for some in itertools.combinations(range(len(names)), min(2, len(names))):
        assert problem.cost(some) == apart.cost(some)
    fitted = table.fitted(names)
    assert fitted.fitted(names) == fitted


def _flats(folder: Path) -> kh.streams.FileStream:
    rows = "id,age,city,heat,rent\n1,31,Berlin,gas,800\n2,5,Paris,oil,1100\n3,9,Rome,gas,700\n"
    stream = read(_file(folder, rows, "flats.csv"), target="rent", ignore=["id"])
    assert isinstance(stream, kh.streams.FileStream)
    return stream


FLATS = "feature,price,panel,needs\nid,1\nrent,9,visit\nage,0.50,visit\nvisit,2\n"


def test_a_categorical_column_is_a_panel_of_its_levels(tmp_path: Path) -> None:
    stream = _flats(tmp_path)
    assert stream.groups == {
        "age": ("age",),
        "city": ("city=Berlin", "city=Paris", "city=Rome"),
        "heat": ("heat=gas", "heat=oil"),
    }
    table = kh.read_prices(_file(tmp_path, FLATS + "city,5\nheat,,visit\n"))
    fitted = table.fitted(stream.names, stream.groups, ignored=["id", "rent"])
    assert fitted == table.fitted(stream.names, ignored=["rent", "id"])  # by the names alone
    problem = kh.Problem(stream.d, 1, 7.5, stream.names, prices=fitted)
    where = {name: j for j, name in enumerate(stream.names)}
    assert problem.cost([where["city=Berlin"]]) == 5.0
    assert problem.cost([where[n] for n in stream.groups["city"]]) == 5.0, "the fee is paid once"
    assert problem.cost([where["heat=gas"], where["heat=oil"]]) == 2.0
    assert problem.cost([where["age"], where["heat=gas"]]) == 2.5
    assert problem.cost(range(stream.d)) == 7.5
    assert problem.prices is not None
    assert problem.prices.to_order([where["city=Rome"]]) == ("city",)
    assert problem.prices.paid_for([where["city=Rome"]]).tolist() == [
        where[n] for n in stream.groups["city"]
    ]


def test_levels_may_have_prices_and_be_computed(tmp_path: Path) -> None:
    stream = _flats(tmp_path)
    text = FLATS + "city=Paris,3\ncity,5\nheat,,,city;age\n"
    table = kh.read_prices(_file(tmp_path, text)).fitted(
        stream.names, stream.groups, ["id", "rent"]
    )
    problem = kh.Problem(stream.d, 1, 99, stream.names, prices=table)
    cost = {name: problem.cost([j]) for j, name in enumerate(stream.names)}
    assert (cost["city=Paris"], cost["city=Rome"]) == (8.0, 5.0)
    assert cost["heat=gas"] == cost["heat=oil"] == 5 + 3 + 0.5 + 2  # all that is behind it
    only = kh.PriceTable({"age": 1, "city": 5, "heat": 0}, {"visit": (2, ["id"])})
    assert "visit" not in only.fitted(stream.names, stream.groups, ["id", "rent"]).panels


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (
            "agee,1\ncity,5\nheat,1\n",
            "p.csv, line 6: there is no feature 'agee' (did you mean 'age'",
        ),
        (
            "city,5\n",
            "p.csv: there is no price for 'heat=gas', and 1 other: add a row for every fe",
        ),
        ("city,5\n", "(or one for 'heat', for all its levels), 0 if it is free"),
        ("city,5\nheat,,,sise\n", "there is no feature 'sise'"),
        ("city,5\nheat,,,id\n", "line 7: 'heat' needs 'id', which is ignored: keep it, or give"),
        (
            "city,5\nheat=gas,1\nheat=oli,1\n",
            "line 8: there is no feature 'heat=oli' (did you mean",
        ),
        ("heat,,city\ncity,5\n", "p.csv: there is no price for 'city=Berlin', and 2 others"),
        ("city,5,heat=gas\nheat=gas,2\n", "line 7: 'heat=gas' is a panel here and a feature of"),
        ("city,5\nheat,1\nlab,3\n", "a panel is named in the panel column of its members"),
    ],
)
def test_lists_that_do_not_fit(tmp_path: Path, rows: str, message: str) -> None:
    stream = _flats(tmp_path)
    table = kh.read_prices(_file(tmp_path, FLATS + rows))
    with pytest.raises(kh.ProblemError, match=re.escape(message)) as caught:
        table.fitted(stream.names, stream.groups, ["id", "rent"])
    assert "\n" not in str(caught.value)


def test_tables_by_hand() -> None:
    names = ("age", "crp")
    bad: list[tuple[tuple[Any, ...], str]] = [
        (([1, 2],), "prices of a price table must be by name, got [1, 2]"),
        (({"age": -1},), "prices: the price of 'age' must be an amount of at least 0"),
        (({}, {"blood": 4}), "panel 'blood' must be a price and its features"),
        (({}, {"blood": ("x", ["crp"])}), "the price of panel 'blood' must be an amount"),
        (
            ({}, {"blood": (4, [])}),
            "'blood' needs a list of features by name, at least one, got []",
        ),
        (({}, {"blood": (4, "crp")}), "'blood' needs a list of features by name, at least one"),
        (({"age": 1}, {"age": (4, ["crp"])}), "'age' is a feature with a price and a panel too"),
        (({}, {"blood": (4, ["crp", 7])}), "'blood' needs a list of features by name"),
        (({"age": 1}, {}, {"crp": []}), "'crp' needs a list of features by name"),
    ]
    for given_parts, message in bad:
        with pytest.raises(kh.ProblemError, match=re.escape(message)):
            kh.PriceTable(*given_parts)
    table = kh.PriceTable({"age": 2, "crp": 3})
    assert repr(table) == "PriceTable(prices={'age': 2, 'crp': 3}, panels={}, derived={})"
    nameless: Any = kh.streams.realizable(2, 1, 10).stream
    with pytest.raises(kh.ProblemError, match="prices: the features have no names to look up"):
        table.fitted(nameless.names)
    with pytest.raises(kh.ProblemError, match="a price table goes by name: give names"):
        kh.Problem(2, 1, 3, prices=table)
    with pytest.raises(kh.ProblemError, match="a price table has its own panels"):
        kh.Problem(2, 1, 3, names, prices=table, panels={"x": (1, ["age"])})
    with pytest.raises(kh.ProblemError, match=r"a budget of 1.5 buys nothing: age is the cheapest"):
        kh.Problem(2, 1, 1.5, names, prices=table)
    with pytest.raises(kh.ProblemError, match="none of the features: give names and groups of"):
        table.fitted(names, {"sex": ["sex=f"]})
    both = kh.PriceTable({"a": 1, "a=b": 2})
    with pytest.raises(
        kh.ProblemError, match=re.escape("'a=b=c' can be a level of 'a' or of 'a=b'")
    ):
        both.fitted(["a=b=c", "a=d"])
    settled = both.fitted(["a=b=c", "a=d"], {"a": ["a=d"], "a=b": ["a=b=c"]})
    assert settled.panels == {"a": (1, ("a=d",)), "a=b": (2, ("a=b=c",))}


def test_a_panel_dearer_than_the_budget_buys_nothing_however_many_share_it() -> None:
    """The width alone, an upper bound, would let this problem pass."""
    with pytest.raises(kh.ProblemError, match="a budget of 3 buys nothing: a is the cheapest"):
        kh.Problem(4, 1, 3, tuple("abcd"), prices=kh.PriceTable({}, {"all": (10, tuple("abcd"))}))


def test_a_pipe_is_read_too(tmp_path: Path) -> None:
    source, sink = os.pipe()
    os.write(sink, b"feature,price\nage,1\n")
    os.close(sink)
    assert kh.read_prices(f"/dev/fd/{source}").prices == {"age": 1}
    os.close(source)


def test_columns_are_known_by_their_levels_wherever_they_are_named() -> None:
    names = ["city=a", "city=b", "risk=high", "risk=low"]
    table = kh.PriceTable({"city=a": 1, "city=b": 2}, {}, {"risk": ["city"]})
    fitted = table.fitted(names)
    assert fitted.derived == dict.fromkeys(names[2:], ("city=a", "city=b"))
    assert kh.Problem(4, 1, 3, names, prices=table).cost([2]) == 3.0


def test_a_table_keeps_what_it_was_given() -> None:
    prices, members = {"age": 1}, ["crp"]
    table = kh.PriceTable(prices, {"blood": (4, members)})
    prices["age"] = 99
    members.append("age")
    assert table == kh.PriceTable({"age": 1}, {"blood": (4, ("crp",))})


def test_lines_are_those_of_an_editor(tmp_path: Path) -> None:
    with pytest.raises(kh.DataError, match=r"p\.csv, line 3: not UTF-8"):
        kh.read_prices(_file(tmp_path, b"\nfeature,price\n\xe9,1\n"))
