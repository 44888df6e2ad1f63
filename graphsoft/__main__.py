"""``python -m graphsoft``, for where the command is not on the path."""

from graphsoft.cli.command import run

if __name__ == "__main__":
    run()
