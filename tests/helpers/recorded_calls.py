"""What kernels are called with, by command, without compiling anything.

    python -m tests.helpers.recorded_calls FOLDER

plays what is compiled ahead of time, and then commands on small files in the folder, as plain
Python. It prints JSON: for each the calls of kernels, as the kernel's name and the forms of its
arguments.
"""

import contextlib
import io
import json
import shlex
import sys
from functools import partial
from pathlib import Path
from typing import Any

from tools.kernel_calls import Call, form, record

PLAIN = "-t y -b 2 -k 1"
SHOP = "-t y --prices prices.csv -k 1"
COMMANDS = {
    "csv": f"run rows.csv {PLAIN}",
    "parquet": f"run rows.parquet {PLAIN}",
    "float32": f"run float32.parquet {PLAIN}",
    "report": f"run rows.csv {PLAIN} --coverage 0.9 --save rows.npz --report rows.html",
    "history": f"run rows.csv {PLAIN} --history rows.csv",
    "yes or no": f"run answers.csv {PLAIN} --coverage 0.9",
    "prices": f"run rows.csv {SHOP} -b 2",
    "prices, report": f"run rows.csv {SHOP} -b 2 --report rows.html",
    "worth": f"run rows.csv {SHOP} --worth 0.1",
    "purse": f"run rows.csv {SHOP} --purse 40",
    "advise": "advise rows.csv -t y",
    "diagnose": "diagnose rows.csv -t y",
    "compare": f"compare rows.csv {PLAIN} --jobs 1",
    "predict": "predict rows.npz rows.csv --out predicted.csv",
}


def listed(calls: list[Call]) -> list[Any]:
    return [[call.kernel.name, [form(kind) for kind in call.types]] for call in calls]


def main(folder: str) -> None:
    found = {"ahead": listed(record())}
    import keyhole.cli.app as app  # now, because kernels are to be recorded

    with contextlib.chdir(Path(folder)):
        for name, line in COMMANDS.items():
            with contextlib.redirect_stdout(io.StringIO()):
                found[name] = listed(record(partial(_run, app, line)))
    sys.stdout.write(json.dumps(found))


def _run(app: Any, line: str) -> None:
    assert app.run(shlex.split(line)) == 0, line


if __name__ == "__main__":
    main(sys.argv[1])
