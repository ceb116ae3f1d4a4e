"""`python -m overlord` is the `overlord` command."""

from overlord.entrypoints.cli.main import main

if __name__ == "__main__":
    main()
