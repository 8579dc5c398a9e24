"""A server of PostgreSQL of our own, on loopback, in a folder that is removed afterwards."""

import contextlib
import os
import pwd
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path


def programs() -> Path | None:
    """The folder with initdb and pg_ctl, if PostgreSQL is installed."""
    found = shutil.which("initdb")
    folders = [Path(found).parent] if found else []
    folders += sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    return next((folder for folder in folders if (folder / "pg_ctl").exists()), None)


@contextlib.contextmanager
def server() -> Iterator[str]:
    """The address of a new server; it does not run as root, so as root it is started by others."""
    folder = programs()
    assert folder is not None
    account = next((a for a in pwd.getpwall() if a.pw_name == "postgres"), None)
    root = os.geteuid() == 0
    if root and account is None:
        raise RuntimeError("as root, the tests need a user `postgres` to start a server")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    place = tempfile.mkdtemp(prefix="keyhole-postgres-")
    if root and account is not None:
        os.chown(place, account.pw_uid, account.pw_gid)

    def run(program: str, *arguments: str) -> None:
        other = {"user": account.pw_uid, "group": account.pw_gid} if root and account else {}
        subprocess.run(
            [str(folder / program), "-D", f"{place}/data", *arguments],
            check=True,
            cwd=place,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            **other,  # type: ignore[call-overload]
        )

    try:
        run("initdb", "-U", "keyhole", "-A", "trust", "--no-sync", "-E", "UTF8", "--locale=C")
        options = f"-h 127.0.0.1 -p {port} -k {place} -c fsync=off -c max_connections=40"
        run("pg_ctl", "-w", "-o", options, "-l", f"{place}/log", "start")
        try:
            yield f"postgresql://keyhole@127.0.0.1:{port}/postgres"
        finally:
            run("pg_ctl", "-w", "-m", "immediate", "stop")
    finally:
        shutil.rmtree(place, ignore_errors=True)
