"""`overlord` and `python -m overlord`: the command, and nothing of it imported before Ctrl-C is provided for."""

import sys

INTERRUPTED = 130


def main() -> None:
    """The console script. Whoever stops it while it is still being read in, has no use for where it was."""
    try:
        from overlord.entrypoints.cli.main import main as command

        command()
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)


if __name__ == "__main__":
    main()
