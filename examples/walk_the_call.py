"""Follow one call of `graphsoft.hierarchy` from the public function to the compiled loops.

    python examples/walk_the_call.py [--max-depth N]

Prints the call tree of a hierarchy of 600 points. Every function of the package has one line, at the place
where it is called for the first time: its name, its file, and the first line of its docstring. It is indented
below the function that leads to it. A star marks compiled loops. The last line counts the files and the
functions, and says how many calls are under way at once at most. It also counts how often a reader who meets
the functions in this order has to go from one file to another.

Functions of other packages are left out, and so are what tells progress and what looks out for Ctrl-C. A
function inside another one, a comprehension or a lambda belongs to the function that it is written in.
"""

import argparse
import ast
from functools import cache
from itertools import pairwise
from pathlib import Path
from sys import setprofile
from typing import NamedTuple

import numpy as np

import graphsoft

PACKAGE = Path(graphsoft.__file__).parent
LEVELS = [50, 15, 10]


class Function(NamedTuple):
    """A function of the package: its file, and its name in that file."""

    file: str
    name: str


class Step(NamedTuple):
    """The first call of a function.

    Its depth counts all calls of the package that are under way. Its indent counts only those that were first
    calls as well, which are the ones that are printed above it.
    """

    function: Function
    depth: int
    indent: int


def function_of(code):
    """Return the function that this code belongs to; None for other packages and what only watches calls."""
    path = Path(code.co_filename)
    watching = path.is_relative_to(PACKAGE / "progress") or path == PACKAGE / "interrupts.py"
    if not path.is_relative_to(PACKAGE) or watching:
        return None
    return Function(path.relative_to(PACKAGE).as_posix(), code.co_qualname.partition(".<locals>")[0])


def walk(call):
    """Return the steps of a call, each function of the package once, in the order of the first calls."""
    steps, running = {}, []

    def follow(frame, event, _):
        function = function_of(frame.f_code) if event in ("call", "return") else None
        if function is None:
            return
        if event == "return":
            running.pop()
            return
        above, depth, indent = running[-1] if running else (None, 0, 0)
        # a comprehension runs inside its own function, not one step below it
        step = Step(function, depth + (function != above), indent + (function not in steps))
        running.append(step)
        steps.setdefault(function, step)

    # It follows this thread only, which does all the work for so few points. Numba shows compiled functions
    # to a profiler as if they were Python functions.
    setprofile(follow)
    try:
        call()
    finally:
        setprofile(None)
    return list(steps.values())


@cache
def explanations(file):
    """Read from a file the first line of each function's docstring, with a star before compiled loops."""
    lines = {}

    def visit(node, prefix):
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.FunctionDef):
                compiled = any(getattr(mark, "id", "") == "kernel" for mark in child.decorator_list)
                first = (ast.get_docstring(child) or "").partition("\n")[0]
                lines[prefix + child.name] = f"* {first}".rstrip() if compiled else first
            elif isinstance(child, ast.ClassDef):
                visit(child, f"{prefix}{child.name}.")

    visit(ast.parse((PACKAGE / file).read_text(encoding="utf-8")), "")
    return lines


def print_tree(steps):
    """Print a line for each step."""
    names = ["  " * (step.indent - 1) + step.function.name for step in steps]
    widths = max(map(len, names)), max(len(step.function.file) for step in steps)
    for name, (function, _, _) in zip(names, steps, strict=True):
        explanation = explanations(function.file).get(function.name, "")
        print(f"{name:{widths[0]}}  {function.file:{widths[1]}}  {explanation}".rstrip())


def counts(steps):
    """Count files, functions, the largest depth, and the changes from one file to another."""
    files = [step.function.file for step in steps]
    changes = sum(one != other for one, other in pairwise(files))
    return len(set(files)), len(steps), max(step.depth for step in steps), changes


def clouds(points=600, features=10):
    """Draw points in ten clouds."""
    rng = np.random.default_rng(0)
    middles = 3.0 * rng.normal(size=(10, features))
    return middles[np.arange(points) % 10] + rng.normal(size=(points, features))


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--max-depth", type=int, metavar="N", help="leave out what is indented further")
    options = parser.parse_args()
    X = clouds()
    graphsoft.hierarchy(X, LEVELS)  # imports and compiles what the second call needs
    steps = walk(lambda: graphsoft.hierarchy(X, LEVELS))
    print_tree([step for step in steps if options.max_depth is None or step.indent <= options.max_depth + 1])
    files, functions, depth, changes = counts(steps)
    print(f"\n{files} files, {functions} functions, depth {depth}, ", end="")
    print(f"{changes} changes of file in the order of first meeting")


if __name__ == "__main__":
    main()
