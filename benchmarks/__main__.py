"""`make bench`: runs every comparison there is and prints its table."""

from __future__ import annotations

from pathlib import Path

from benchmarks import dantzig, dantzig_data, hindsight, play

RESULTS = Path(__file__).parent / "results"


def main() -> None:
    """Run them all."""
    hindsight.main()
    play.main()
    dantzig.main(["--largest", "1000", "--seconds", "5", "--json", str(RESULTS / "dantzig.json")])
    dantzig_data.main(["--rounds", "8192", "--seeds", "3"])


if __name__ == "__main__":
    main()
