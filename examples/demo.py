"""The demo: repair every example operator, tell each story, and check that what should be repaired is.

Run by `make demo`. It uses the commands a user would, on a log of its own, and exits non-zero if fewer than four of the
five repairable examples end accepted, or the log does not verify. The sixth is beyond the rules; it ends honestly.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import time
from pathlib import Path

import orjson

HERE = Path(__file__).parent
#: No rule of the knowledge base can fix these; the demo shows what an honest "not repaired" looks like.
BEYOND_RULES = {"seq_cumsum"}


def opmend(*arguments: str) -> subprocess.CompletedProcess[str]:
    """One call of the command line, its stdout captured, its stderr (the live story) shown."""
    command = [sys.executable, str(HERE.parent / "cli.py"), *arguments]
    return subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)


def main() -> int:
    state = Path(".opmend/demo")
    shutil.rmtree(state, ignore_errors=True)
    log = str(state / "log.db")
    tasks = sorted(path.parent for path in HERE.glob("*/model.py"))
    accepted: list[str] = []
    for task in tasks:
        print(f"\n=== {task.name}", flush=True)
        started = time.monotonic()
        done = opmend("repair", str(task), "--log", log, "--out", str(state / task.name), "--json", "--seed", "2026")
        if done.returncode not in (0, 1):
            print(f"opmend repair ended with exit code {done.returncode}")
            return done.returncode
        last = orjson.loads(done.stdout.strip().split("\n")[-1])
        print(opmend("replay", last["session"], "--log", log).stdout, end="")
        print(opmend("diff", last["session"], "--log", log).stdout, end="")
        print(
            f"--> {last['outcome']} after {last['attempts']} attempts in {time.monotonic() - started:.1f} s", flush=True
        )
        if last["outcome"] == "accepted":
            accepted.append(task.name)
    repairable = [task.name for task in tasks if task.name not in BEYOND_RULES]
    print(f"\nrepaired {len(accepted)} of {len(tasks)} examples: {', '.join(accepted)}")
    verified = opmend("verify", "--log", log)
    print("log verifies" if verified.returncode == 0 else verified.stdout)
    print(f"why was it accepted?  .venv/bin/opmend replay last --explain --log {log}")
    return 0 if len(set(accepted) & set(repairable)) >= 4 and verified.returncode == 0 else 1


if __name__ == "__main__":
    sys.exit(main())
