"""Lists of budgets as they are typed."""

import pytest

import keyhole as kh
from keyhole.cli.sizes import make_problems, parse_budgets
from keyhole.cli.source import Source


@pytest.mark.parametrize(
    ("typed", "budgets"),
    [
        (["4,8,12"], [4, 8, 12]),
        (["16, 4"], [4, 16]),
        (["4", "2"], [2, 4]),  # given twice: both count
        (["4-16:4"], [4, 8, 12, 16]),
        (["4-17:4,1"], [1, 4, 8, 12, 16]),
        (["3-5"], [3, 4, 5]),
        (["7-7"], [7]),
    ],
)
def test_lists_that_are_understood(typed: list[str], budgets: list[int]) -> None:
    assert parse_budgets(typed) == budgets


@pytest.mark.parametrize(
    ("typed", "words"),
    [
        ("", "'' is not a number of features"),
        ("4,,8", "'' is not a number of features"),
        ("4,x", "'x' is not a number of features"),
        ("4.5", "'4.5' is not a number of features"),
        ("-4", "'-4' is not a number of features"),
        ("4,0", "at least 1, got 0"),
        ("0-3", "at least 1, got 0"),
        ("4,8,4", "4 is there twice"),
        ("4-8:2,6", "6 is there twice"),
        ("9-4", "the range 9-4 is empty"),
        ("4-9:0", "the range 4-9:0 is empty"),
        ("1-999999999", "more than 1,000 budgets"),
        ("9" * 5000, "is not a number of features"),
    ],
)
def test_lists_that_are_refused(typed: str, words: str) -> None:
    with pytest.raises(kh.ProblemError, match="--budgets") as refusal:
        parse_budgets([typed])
    assert words in str(refusal.value)
    assert "\n" not in str(refusal.value)


def test_all_budgets_have_one_sparsity() -> None:
    source = Source(kh.streams.clinic(20).stream, "clinic", "days")
    sizes = [(p.k, p.budget) for p in make_problems(source, [3, 8], None)]
    assert sizes == [(3, 3), (3, 8)]
    sizes = [(p.k, p.budget) for p in make_problems(source, [6, 42], 2)]
    assert sizes == [(2, 6), (2, 42)]
    with pytest.raises(kh.ProblemError, match=r"--sparsity 5 .* 4, the smallest of --budgets 4,8"):
        make_problems(source, [4, 8], 5)
    with pytest.raises(kh.ProblemError, match=r"--budgets 4,43: 43 is more than the 42 features"):
        make_problems(source, [4, 43], None)
