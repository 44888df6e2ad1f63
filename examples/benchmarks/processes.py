"""Run the steps of a benchmark in processes of their own, and measure their time and memory.

A process of its own starts without the memory and the compiled code of earlier steps.
"""

import json
import subprocess
import sys
import time
from pathlib import Path

STATUS, PEAK = Path("/proc/self/status"), Path("/proc/self/clear_refs")


def in_process(script, limit, *arguments):
    """Run a script for at most `limit` seconds.

    Returns the JSON on the last line that the script printed, or a text that says what went wrong.
    """
    command = [sys.executable, script, *map(str, arguments)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=limit)
    except subprocess.TimeoutExpired:
        return f"over {limit:.0f} s"
    if done.returncode:
        return f"failed: {(done.stderr.strip().splitlines() or [done.returncode])[-1]}"
    return json.loads(done.stdout.splitlines()[-1]) if done.stdout else None


def memory(field):
    """Read from the kernel how many bytes this process holds (VmRSS) or held at its peak (VmHWM)."""
    return next(1024 * int(line.split()[1]) for line in STATUS.read_text().splitlines() if field in line)


def measured(work):
    """Run `work`; return its result, its seconds, and the bytes held at its peak beyond those held before."""
    PEAK.write_text("5")  # resets the peak, see proc(5)
    before, began = memory("VmRSS"), time.perf_counter()
    result = work()
    seconds = time.perf_counter() - began
    return result, seconds, max(memory("VmHWM") - before, 1)


def require_proc(parser):
    """Stop a script that measures memory on a system without /proc."""
    if not STATUS.exists():
        parser.error("memory is read from /proc, which only Linux has")
