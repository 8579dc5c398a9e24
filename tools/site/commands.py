"""The command line as a page: every command with its own help text."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

WIDTH = 96  # characters of a line


def markdown() -> str:
    """A section for every command, with what `--help` prints."""
    import typer

    from keyhole.cli.app import application

    command = typer.main.get_command(application())
    return "\n\n".join(_sections(command, "keyhole", None))


def _sections(command: Any, path: str, parent: Any) -> Iterator[str]:
    """The section of a command, then those of its subcommands."""
    context = command.context_class(
        command,
        info_name=path.rpartition(" ")[2],
        parent=parent,
        terminal_width=WIDTH,
        max_content_width=WIDTH,
    )
    yield f"## `{path}`\n\n```text\n{command.get_help(context).rstrip()}\n```"
    for name, part in getattr(command, "commands", {}).items():
        yield from _sections(part, f"{path} {name}", context)
