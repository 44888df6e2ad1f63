"""Run the steps of a benchmark in processes of their own: none leaves memory or compiled code to the next."""

import json
import subprocess
import sys


def in_process(script, limit, *arguments):
    """Run a script: the JSON on the last line that it printed, or in words what went wrong."""
    command = [sys.executable, script, *map(str, arguments)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=limit)
    except subprocess.TimeoutExpired:
        return f"over {limit:.0f} s"
    if done.returncode:
        return f"failed: {(done.stderr.strip().splitlines() or [done.returncode])[-1]}"
    return json.loads(done.stdout.splitlines()[-1]) if done.stdout else None
