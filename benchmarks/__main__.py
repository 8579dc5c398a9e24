"""`make bench`: runs every comparison there is and prints its table."""

from __future__ import annotations

from benchmarks import hindsight, play


def main() -> None:
    """Run them all."""
    hindsight.main()
    play.main()


if __name__ == "__main__":
    main()
