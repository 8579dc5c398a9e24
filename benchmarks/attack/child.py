"""The process that is attacked, and may die of it: cases on standard input, outcomes on output."""

from __future__ import annotations

import importlib
import json
import sys
import warnings

from benchmarks.attack.outcome import ChangedError, NotFiniteError


def main() -> None:
    """One line of JSON for each case, [family, case]; one line in answer."""
    for line in sys.stdin:
        family, case = json.loads(line)
        module = importlib.import_module(f"benchmarks.attack.{family}")
        # Of sums that are no sums nothing is promised, of everything else silence.
        warnings.simplefilter("ignore" if family == "states" else "error")
        warnings.filterwarnings("ignore", "Warning: converting a masked element")  # NumPy's own
        try:
            outcome = module.suffer(case)
        except ChangedError as error:
            outcome = f"changed: {error}"
        except NotFiniteError as error:
            outcome = f"not finite: {error}"
        except Exception as error:
            outcome = f"raw: {type(error).__name__}: {error}"
        print(outcome.replace("\n", " ")[:300], flush=True)


if __name__ == "__main__":
    main()
