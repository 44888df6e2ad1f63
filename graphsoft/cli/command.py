"""The command line: ``graphsoft --help`` lists its commands."""

from __future__ import annotations

import contextlib
import io
import os
import sys
import warnings
from collections.abc import Iterator, Sequence
from typing import Any, NoReturn

import click

from graphsoft.cli.fitting import cluster, graph, hierarchy, suggest
from graphsoft.cli.models import compare, convert, describe, explore, info, predict
from graphsoft.cli.options import NAMES
from graphsoft.cli.running import run as run_beyond_memory
from graphsoft.cli.terminal import say
from graphsoft.errors import GraphsoftWarning, InputError, RunStopped
from graphsoft.version import installed_version

__all__ = ["main", "run"]

FAILED, MISUSED, INTERRUPTED, UNREAD = 1, 2, 130, 141


class _Program(click.Group):
    """Turns errors of a command into one line and an exit code, and keeps commands in their order."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.commands)

    def invoke(self, ctx: click.Context) -> int:
        try:
            super().invoke(ctx)
            sys.stdout.flush()
        except InputError as error:
            name = NAMES.get(error.argument, error.argument)
            # elsewhere it is the model
            if error.argument == "directory" and ctx.invoked_subcommand not in ("run", "predict"):
                name = "input"
            return _fail(FAILED, f"{name}: {error.problem}. Remedy: {error.remedy}.")
        except BrokenPipeError:
            # so that the flush at exit does not fail again
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return UNREAD
        except (OSError, ImportError, RunStopped) as error:
            return _fail(FAILED, str(error))
        except MemoryError:
            return _fail(FAILED, "out of memory. Remedy: fewer points, fewer neighbors, or a larger machine.")
        except KeyboardInterrupt:
            resume = "; the same command goes on where it stopped"
            return _fail(INTERRUPTED, "interrupted" + resume * (ctx.invoked_subcommand == "run"))
        return 0


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line.

    Parameters
    ----------
    arguments : sequence of str, optional
        In place of those of the process.

    Returns
    -------
    int
        0 if all went well, 1 if the input cannot be used or the system failed (a full disk, too little
        memory), 2 if the command was written wrongly, 130 after Ctrl-C, 141 if the reader of the output
        closed it.
    """
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:  # closed by the shell
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115 - until the process ends
        elif isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # a C locale knows no letters beyond ASCII
    given = None if arguments is None else list(arguments)
    try:
        with _short_warnings():
            return int(program.main(given, prog_name="graphsoft", standalone_mode=False) or 0)
    except click.exceptions.NoArgsIsHelpError as error:
        error.show()
        return MISUSED
    except click.ClickException as error:
        context = getattr(error, "ctx", None)
        path = "graphsoft" if context is None else context.command_path
        return _fail(MISUSED, f"{error.format_message()} See {path} --help.")
    except click.exceptions.Abort:  # Ctrl-C before a command has begun
        return _fail(INTERRUPTED, "interrupted")
    except OSError as error:  # the help cannot be written
        return _fail(FAILED, str(error))


def run() -> NoReturn:
    """Run the command line as a process of its own."""
    sys.unraisablehook = _tell_of_unraisable
    code = main()
    if code == INTERRUPTED:
        # Python would end by the signal, and with another code, if it came while text was being executed
        os._exit(code)
    sys.exit(code)


def _tell_of_unraisable(unraisable: Any) -> None:
    """Say nothing of Ctrl-C that code in C drops on its way: it comes out in the end, as one line."""
    if unraisable.exc_type is not KeyboardInterrupt:
        sys.__unraisablehook__(unraisable)


def _fail(code: int, message: str) -> int:
    with contextlib.suppress(OSError):  # if nothing can be written, the exit code still tells
        say(f"graphsoft: {message}")
    return code


@contextlib.contextmanager
def _short_warnings() -> Iterator[None]:
    """Show warnings as one line, without the line of source that raised them."""

    def show(message: Warning | str, *_: object, **__: object) -> None:
        say(f"graphsoft: warning: {message}")

    with warnings.catch_warnings():
        warnings.simplefilter("always", GraphsoftWarning)
        warnings.showwarning = show
        yield


def _show_version(context: click.Context, _: click.Parameter, wanted: bool) -> None:
    if wanted:
        click.echo(f"graphsoft {installed_version()}")
        context.exit()


@click.group(
    cls=_Program,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
    epilog="\b\nTab completion in bash, and likewise in zsh and fish:\n"
    '  eval "$(_GRAPHSOFT_COMPLETE=bash_source graphsoft)"',
)
@click.option(
    "--version", is_flag=True, is_eager=True, callback=_show_version, help="Show the version and exit."
)
def program(**_: Any) -> None:
    """Soft clusters of a sparse graph, as a tree."""


for command in (
    hierarchy, cluster, graph, run_beyond_memory, predict, suggest, describe, compare, convert, explore, info,
):  # fmt: skip
    program.add_command(command)
