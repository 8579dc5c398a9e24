"""`python -m keyhole`: the command line."""

from keyhole.cli import main

if __name__ == "__main__":
    main()
