"""``python -m graphsoft``, for where the command is not on the path."""

from graphsoft.cli.command import main

if __name__ == "__main__":
    raise SystemExit(main())
