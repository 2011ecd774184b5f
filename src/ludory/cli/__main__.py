"""`python -m ludory.cli` is the `ludory` command."""

from . import main

if __name__ == "__main__":
    raise SystemExit(main())
