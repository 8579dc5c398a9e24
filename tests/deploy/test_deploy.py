"""Files that put the service on a machine: read, for what a linter would say and for the truth.

`tools/try_image.sh` builds and runs the image where docker or podman runs; CI calls it.
"""

import importlib
import json
import re
import shlex
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import typer

import keyhole as kh
from keyhole.cli.app import application
from keyhole.counter.service.metrics import prometheus_text
from keyhole.counter.service.middleware import RequestCounts
from keyhole.counter.service.routes import PUBLIC_PATHS
from keyhole.counter.service.server import SHUTDOWN_SECONDS
from keyhole.counter.service.settings import ServiceSettings
from tests.helpers.stores import quick_folder

ROOT = Path(__file__).parents[2]
PORT = ServiceSettings().port


@dataclass(frozen=True)
class Step:
    """A line of a Dockerfile, and the stage it is in, from 0."""

    stage: int
    word: str
    rest: str


def steps(text: str) -> list[Step]:
    """What a Dockerfile says, without comments, continued lines as one."""
    kept = [line for line in text.splitlines() if not line.lstrip().startswith("#")]
    found: list[Step] = []
    stage = -1
    for line in re.sub(r"\\\n", " ", "\n".join(kept)).splitlines():
        if line.strip():
            word, _, rest = line.strip().partition(" ")
            stage += word == "FROM"
            found.append(Step(stage, word, rest.strip()))
    return found


def faults(text: str) -> list[str]:
    """What is wrong with a Dockerfile."""
    all_steps = steps(text)
    last = [step for step in all_steps if step.stage == all_steps[-1].stage]
    by_word = {step.word: step.rest for step in last}  # the last of each
    found = []
    images = [step.rest.split()[0] for step in all_steps if step.word == "FROM"]
    names = [step.rest.split()[-1] for step in all_steps if step.word == "FROM"]
    if len(images) < 2:
        found.append("one stage only")
    for image in images:
        if not re.fullmatch(r"[a-z]+:[\w.-]*[0-9][\w.-]*", image):
            found.append(f"{image}: no version, or a host")
    if by_word.get("USER", "0").split(":")[0] in ("0", "root"):
        found.append("root")
    if re.search(r"gcc|clang|build-essential|pip install|ziglang", " ".join(s.rest for s in last)):
        found.append("a compiler, or an installation, in the last stage")
    for step in all_steps:
        if step.word == "ADD":
            found.append("ADD: use COPY")
        if "--from=" in step.rest and not any(f"--from={name} " in step.rest for name in names):
            found.append(f"{step.rest}: no such stage")
        if "pip " in step.rest and "--no-cache-dir" not in step.rest:
            found.append("a cache of pip")
    for word in ("HEALTHCHECK", "ENTRYPOINT", "CMD", "EXPOSE"):
        if word not in by_word:
            found.append(f"no {word}")
    for word in ("ENTRYPOINT", "CMD"):
        if word in by_word and not by_word[word].startswith("["):
            found.append(f"{word} in a shell: signals do not arrive")
    health = re.findall(r"http://127\.0\.0\.1:(\d+)(/\w+)", by_word.get("HEALTHCHECK", ""))
    if not health or any(int(port) != PORT or path not in PUBLIC_PATHS for port, path in health):
        found.append("the health check asks for something else")
    if by_word.get("EXPOSE") != str(PORT):
        found.append("another port")
    return found


def accepts(arguments: list[str]) -> None:
    """Have the command line parse these; an error if it does not know one of them."""
    command: Any = typer.main.get_command(application())
    with command.make_context("keyhole", list(arguments)) as context:
        name, sub, rest = command.resolve_command(context, list(arguments))
        sub.make_context(name, rest, parent=context)


def test_the_image_is_sound_as_far_as_reading_shows() -> None:
    assert faults((ROOT / "Dockerfile").read_text()) == []


@pytest.mark.parametrize(
    ("old", "new", "fault"),
    [
        ("USER 10001", "", "root"),
        ("USER 10001", "USER root", "root"),
        ("python:3.11-slim\n", "python:latest\n", "no version"),
        ("python:3.11-slim\n", "registry.example/python:3.11\n", "a host"),
        ("/health'", "/healthy'", "health check"),
        ("8321/", "8080/", "health check"),
        ("EXPOSE 8321", "EXPOSE 80", "another port"),
        ("--from=build", "--from=built", "no such stage"),
        ("USER 10001", "RUN apt-get install gcc\nUSER 10001", "a compiler"),
        ('CMD ["serve"', "CMD serve", "shell"),
        ("--no-cache-dir", "", "cache"),
    ],
)
def test_the_reading_finds_what_is_wrong(old: str, new: str, fault: str) -> None:
    text = (ROOT / "Dockerfile").read_text()
    assert old in text
    assert any(fault in each for each in faults(text.replace(old, new)))


def test_the_image_starts_a_command_that_there_is() -> None:
    by_word = {step.word: step.rest for step in steps((ROOT / "Dockerfile").read_text())}
    assert json.loads(by_word["ENTRYPOINT"]) == ["keyhole"]
    accepts(json.loads(by_word["CMD"]))
    with pytest.raises(Exception, match="No such option"):
        accepts(["serve", "--log-formats", "json"])


def test_extras_of_the_image_exist() -> None:
    import tomllib

    [extras] = re.findall(r"whl\)\[([\w,]+)\]", (ROOT / "Dockerfile").read_text())
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert set(extras.split(",")) <= set(project["optional-dependencies"])


def test_what_the_build_needs_is_sent_to_it() -> None:
    """`.dockerignore` leaves everything out but what it names."""
    import tomllib

    lines = (ROOT / ".dockerignore").read_text().splitlines()
    assert lines[0] == "*"
    sent = {line[1:] for line in lines if line.startswith("!")}
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    needed = {project["project"]["readme"], *project["project"]["license-files"]}
    needed |= {"pyproject.toml", f"{project['build-system']['build-backend']}.py", "src"}
    assert sent == needed
    assert all((ROOT / name).exists() for name in sent)


def test_services_of_compose() -> None:
    yaml: Any = importlib.import_module("yaml")
    services = yaml.safe_load((ROOT / "compose.yaml").read_text())["services"]
    database, ours = services["db"], services["keyhole"]
    assert re.fullmatch(r"postgres:\d+", database["image"])
    assert "ports" not in database, "only the service needs the database"
    accepts(ours["command"])
    assert "--host" in ours["command"]
    assert ours["ports"] == [f"127.0.0.1:{PORT}:{PORT}"]
    assert ours["depends_on"]["db"]["condition"] == "service_healthy"
    assert "healthcheck" in database
    assert ours["read_only"] is True
    assert ours["cap_drop"] == ["ALL"]
    assert int(ours["stop_grace_period"].removesuffix("s")) > SHUTDOWN_SECONDS
    user = database["environment"]["POSTGRES_USER"]
    name = database["environment"]["POSTGRES_DB"]
    assert ours["environment"]["KEYHOLE_STORE"] == f"postgresql://{user}@db/{name}"
    # No password has a default, and both sides have the same.
    assert ours["environment"]["PGPASSWORD"] == database["environment"]["POSTGRES_PASSWORD"]
    assert ours["environment"]["PGPASSWORD"].startswith("${KEYHOLE_DB_PASSWORD:?")


def test_the_unit_of_systemd() -> None:
    text = (ROOT / "deploy" / "keyhole.service").read_text()
    pairs = [line.partition("=")[::2] for line in text.splitlines() if re.match(r"\w+=", line)]
    unit = dict(pairs)
    assert len(unit) == len(pairs)
    program, *arguments = shlex.split(unit["ExecStart"])
    assert program.endswith("/bin/keyhole")
    accepts(arguments)
    assert unit["User"] not in ("", "root")
    store = Path(unit["Environment"].removeprefix("KEYHOLE_STORE="))
    assert store.parent == Path("/var/lib") / unit["StateDirectory"]
    assert int(unit["TimeoutStopSec"]) > SHUTDOWN_SECONDS
    assert unit["ProtectSystem"] == "strict"
    assert re.findall(r"^\[(\w+)\]$", text, re.MULTILINE) == ["Unit", "Service", "Install"]


def test_the_script_that_tries_the_image_is_one_and_names_what_there_is() -> None:
    script = ROOT / "tools" / "try_image.sh"
    subprocess.run(["sh", "-n", str(script)], check=True)
    for line in re.findall(
        r"\bkeyhole ((?:serve|backup|restore)\b.*?)(?: >/dev/null)?\n", script.read_text()
    ):
        accepts(shlex.split(line))
    assert "tools/try_image.sh" in (ROOT / ".ci" / "run").read_text()


def test_the_dashboard_asks_for_what_is_exported() -> None:
    dashboard = json.loads((ROOT / "deploy" / "grafana.json").read_text())
    counts = RequestCounts()
    counts.count("GET", "/", 404, 0.1)
    with quick_folder() as folder, kh.Store(folder / "keyhole.db") as store:
        store.create("clinic", kh.Problem(d=3, k=1, budget=2), "fixed")
        exported = prometheus_text(counts, store)
    labels: dict[str, set[str]] = {}
    for line in exported.splitlines():
        if not line.startswith("#"):
            name, inside = re.findall(r"(\w+)(?:\{(.*)\})? ", line)[0]
            labels[name] = set(re.findall(r"(\w+)=\"", inside))
    asked = [target for panel in dashboard["panels"] for target in panel["targets"]]
    text = [target["expr"] for target in asked] + [
        each["query"] for each in dashboard["templating"]["list"] if each["type"] == "query"
    ]
    named = set(re.findall(r"keyhole_\w+", " ".join(text)))
    # Every metric is shown, but the one that is the sum of two others, and none that there is not.
    assert set(labels) ^ named == {"keyhole_open_tickets"}
    for target in asked:
        wanted = set(re.findall(r"\{\{(\w+)\}\}", target["legendFormat"]))
        wanted |= set(re.findall(r"(\w+)=~", target["expr"]))
        for name in re.findall(r"keyhole_\w+", target["expr"]):
            assert wanted <= labels[name], (target, name)
    counters = re.findall(r"# TYPE (\w+) counter", exported)
    for target in asked:
        for name in re.findall(r"keyhole_\w+", target["expr"]):
            inside = re.search(rf"(rate|increase)\({name}\b", target["expr"]) is not None
            assert inside == (name in counters), f"{name}: the rate of a counter, a gauge as it is"
    ids = [panel["id"] for panel in dashboard["panels"]]
    assert len(set(ids)) == len(ids)
