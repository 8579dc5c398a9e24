"""Whatever cannot be used is one line on standard error and exit code 2, never a traceback."""

import gzip
import subprocess
from pathlib import Path

import pytest

from keyhole.problem.optional_imports import extra
from tests.helpers.cli import Cli, in_this_process


@pytest.fixture
def cli() -> Cli:
    """The command in this process: there are many cases, and each would start one."""
    return in_this_process


GOOD = "rooms,floor,rent\n" + "".join(
    f"{2 + i % 3},{i % 5},{800 + 90 * (i % 3)}\n" for i in range(40)
)


def refused(done: subprocess.CompletedProcess[str], *words: str) -> None:
    """Check exit code, that there is one line and nothing else, and what it says."""
    lines = [s for s in done.stderr.splitlines() if "compiling its kernels" not in s]
    assert done.returncode == 2, done.stderr
    assert done.stdout == ""
    assert len(lines) == 1, done.stderr
    assert lines[0].startswith("keyhole: ")
    for word in words:
        assert word in lines[0]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", ["is empty"]),
        ("rooms,floor,rent\n", ["no row"]),
        (GOOD + "3,1,900,9\n", ["line 42", "4 cells", "header has 3"]),
        (GOOD + "3,1\n", ["line 42", "2 cells"]),
        ("rooms,rooms,rent\n1,2,3\n", ["columns 1 and 2", "'rooms'"]),
        (GOOD + "inf,1,900\n", ["line 42", "'rooms'", "infinite"]),
        (GOOD + "3,1,-inf\n", ["line 42", "'rent'", "infinite"]),
        ("rooms,rent\n2,cheap\n3,dear\n4,fair\n", ["'rent'", "3 different texts", "--positive"]),
        ("rooms,rent\n2,\n3,NA\n", ["rent"]),
    ],
    ids=[
        "empty",
        "header only",
        "ragged, long",
        "ragged, short",
        "duplicate names",
        "infinite value",
        "infinite label",
        "text target",
        "no label at all",
    ],
)
def test_a_csv_that_cannot_be_used(cli: Cli, tmp_path: Path, text: str, words: list[str]) -> None:
    path = tmp_path / "flats.csv"
    path.write_text(text)
    refused(cli("run", path, "--target", "rent", "--learner", "random"), *words)


def test_an_unknown_column_is_answered_with_the_nearest(cli: Cli, tmp_path: Path) -> None:
    path = tmp_path / "flats.csv"
    path.write_text(GOOD)
    refused(cli("run", path, "--target", "rant"), "no column 'rant'", "did you mean 'rent'?")
    refused(cli("diagnose", path, "-t", "rent", "--ignore", "flor"), "did you mean 'floor'?")


def test_a_truncated_gzip(cli: Cli, tmp_path: Path) -> None:
    path = tmp_path / "flats.csv.gz"
    path.write_bytes(gzip.compress(GOOD.encode())[:-20])
    refused(cli("compare", path, "--target", "rent"), "truncated gzip")


def test_a_parquet_file_that_cannot_be_used(cli: Cli, tmp_path: Path) -> None:
    path = tmp_path / "flats.parquet"
    rows = {"rooms": [2.0, float("inf"), 1.0], "rent": [1.0, 2.0, 3.0], "street": ["a", "b", "c"]}
    extra("pyarrow.parquet", "files").write_table(extra("pyarrow", "files").table(rows), path)
    refused(cli("run", path, "-t", "street"), "'street'")
    refused(cli("run", path, "-t", "rent", "-l", "random"), "row 2", "'rooms'", "infinite")
    path.write_bytes(path.read_bytes()[:-30])
    refused(cli("run", path, "-t", "rent"), "flats.parquet")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--budget", "3"], ["--budget 3", "2 features"]),
        (["--budget", "1", "--sparsity", "2"], ["--sparsity 2", "--budget 1"]),
        (["--budget", "0"], ["budget"]),
        (["--budget", "few"], ["--budget"]),
        (["--learner", "autp"], ["'autp'", "did you mean 'auto'?"]),
        (["--bugdet", "3"], ["--bugdet"]),
        (["--report", "no/such/place/out.html"], ["no/such/place"]),
    ],
    ids=lambda value: " ".join(value) if value[0].startswith("--") else "",
)
def test_options_that_cannot_be_used(
    cli: Cli, tmp_path: Path, arguments: list[str], words: list[str]
) -> None:
    path = tmp_path / "flats.csv"
    path.write_text(GOOD)
    refused(cli("run", path, "--target", "rent", *arguments), *words)


def test_what_is_missing_is_asked_for(cli: Cli, tmp_path: Path) -> None:
    path = tmp_path / "flats.csv"
    path.write_text(GOOD)
    refused(cli("run", path), "--target")
    refused(cli("run", "--target", "rent"), "--target rent", "needs a file")
    refused(cli("run", tmp_path / "flat.csv", "-t", "rent"), "no file", "'flats.csv'")
    refused(cli("frobnicate"), "frobnicate")
    refused(cli("simulate"), "--out")
    refused(cli("simulate", "--out", "-", "--json"), "--json", "--out")
    refused(cli("simulate", "--out", tmp_path / "made.xls"), "made.xls", ".parquet")
    refused(cli("theory", "--budget", "100"), "budget", "100")
