"""List the loops whose sums could depend on where arrays lie in memory: ``python sums_by_place.py PART``.

PART is a part of the warm-up, whose loops are compiled anew. The compiler guards a loop by a comparison of
addresses if it reads and writes arrays that may overlap. What such a loop adds up in vectors is a ``phi`` of
its body.
"""

import json
import re
import sys

from numba.core import event

from shared.warm_up import PARTS

BLOCK = re.compile(r"\n(?=[\w.]+:)")
GUARD = re.compile(
    r"%(?:diff\.check|found\.conflict)\w* = "
)  # as the compiler names a comparison of addresses
LABEL = re.compile(r"label %([\w.]+)")
SUM = re.compile(r"= phi (?:\w+ )*<\d+ x (?:double|float)>")


def compiled_during(work):
    """Do the work; return the functions whose compilation it brought about."""
    found = []

    class Noting(event.Listener):
        def on_start(self, event):
            found.append(event.data["dispatcher"])

        def on_end(self, event):
            pass

    with event.install_listener("numba:compile", Noting()):
        work()
    return list(dict.fromkeys(found))


def sums_by_place(code):
    """List the loops of a compiled module that are guarded and add up."""
    found = []
    for function in code.split("\ndefine ")[1:]:
        blocks = {block.split(":")[0]: block for block in BLOCK.split(function)[1:]}
        for block in filter(GUARD.search, blocks.values()):
            bodies = [name for name in _reached(blocks, block) if ".body" in name]
            found += [name for name in bodies if SUM.search(blocks[name])]
    return found


def _reached(blocks, guard):
    """List the blocks of vectors that follow a guard."""
    seen, todo = set(), LABEL.findall(guard)
    while todo:
        name = todo.pop()
        if name not in seen and name in blocks and name.startswith(("vector.", "vec.")):
            seen.add(name)
            todo += LABEL.findall(blocks[name])
    return sorted(seen)


if __name__ == "__main__":
    functions = compiled_during(PARTS[sys.argv[1]])
    modules = [(function, code) for function in functions for code in function.inspect_llvm().values()]
    guarded = sum(bool(GUARD.search(code)) for _, code in modules)
    found = [f"{function.__name__} {name}" for function, code in modules for name in sums_by_place(code)]
    json.dump({"modules": len(modules), "guarded": guarded, "found": found}, sys.stdout)
