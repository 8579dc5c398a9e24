"""`make bench`: runs every comparison there is and prints its table.

Arguments go to `benchmarks.regret`, which comes last and whose exit code counts.
"""

from __future__ import annotations

import sys

from benchmarks import (
    dantzig,
    dantzig_data,
    growth,
    hindsight,
    play,
    products,
    records,
    regret,
)
from benchmarks.results import FOLDER


def main() -> int:
    """Run them all."""
    FOLDER.mkdir(exist_ok=True)
    hindsight.main()
    play.main()
    growth.main()
    products.main()
    records.main()
    dantzig.main(["--largest", "1000", "--seconds", "5", "--json", str(FOLDER / "dantzig.json")])
    dantzig_data.main(["--rounds", "8192", "--seeds", "3"])
    return regret.main()


if __name__ == "__main__":
    sys.exit(main())
