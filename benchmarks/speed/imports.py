"""How long `import keyhole` and a first use take in a fresh process, beside `import numpy`."""

from __future__ import annotations

import subprocess
import sys
from functools import partial

from benchmarks.common import Row
from benchmarks.common.timing import best_in_turns

WAYS = {
    "nothing": "pass",
    "import numpy": "import numpy",
    "import keyhole": "import keyhole",
    "keyhole.Problem": "import keyhole; keyhole.Problem(2, 1, 1)",
    "keyhole.AutoLearner": "import keyhole; keyhole.AutoLearner",
}
COUNT = "; import sys; print(len(sys.modules))"


def run_imports(repeats: int) -> Row:
    """Seconds of a process that does it, the best of some, and how many modules it has then."""

    def modules(code: str) -> int:
        command = [sys.executable, "-c", code + COUNT]
        return int(subprocess.run(command, capture_output=True, text=True, check=True).stdout)

    ways = {way: partial(modules, code) for way, code in WAYS.items()}
    seconds = best_in_turns(ways, repeats)
    return {"seconds": seconds, "modules": {way: modules(code) for way, code in WAYS.items()}}
