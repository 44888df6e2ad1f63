"""Print the two commands of README's section "Set-up", one on each line: the main job, then the tests."""

import re
import sys
from pathlib import Path

README = Path(__file__).parent.parent / "README.md"


def main() -> int:
    """Return 0, or 1 with a word on what is wrong with README."""
    section = README.read_text(encoding="utf-8").partition("\n## Set-up\n")[2].partition("\n## ")[0]
    blocks = re.findall(r"^```sh\n(.*?)^```$", section, flags=re.MULTILINE | re.DOTALL)
    commands = [line for block in blocks for line in block.splitlines()]
    if (
        len(commands) != 2
        or not commands[0].startswith("pip install . && graphsoft hierarchy data/")
        or commands[1] != "pip install '.[test]' && pytest"
    ):
        print(f"README.md must have two commands under 'Set-up', but there are {commands}", file=sys.stderr)
        return 1
    print("\n".join(commands))
    return 0


if __name__ == "__main__":
    sys.exit(main())
