"""The demo: repair every example operator with the command line a user has, and tell each story in a few lines.

Run by `make demo`. Exits non-zero if fewer than four of the five repairable examples end accepted, or the log does not
verify. The sixth is beyond the rules; it shows what an honest "not repaired" looks like.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import orjson

HERE = Path(__file__).parent
BEYOND_RULES = {"seq_cumsum"}
ENOUGH = 4


def opmend(*arguments: str) -> subprocess.CompletedProcess[str]:
    """One call of the command line; its stdout is captured, its stderr goes to the terminal."""
    command = [sys.executable, str(HERE.parent / "cli.py"), *arguments]
    return subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)


def tell(answer: dict[str, Any]) -> None:
    """What failed, which pattern, the diff, the cases before and after, the verdict: from `replay --explain --json`."""
    for attempt in answer["attempts"]:
        counts = ", ".join(
            f"{s} {attempt[s]['passed']}/{attempt[s]['total']}" for s in ("compact", "full") if attempt[s]
        )
        if attempt["attempt"] == 0:
            print(f"near-miss  {counts}")
            continue
        print(f"patch {attempt['attempt']}    {attempt['rationale'].split(': ')[0]} [{attempt['pattern']}]")
        print("".join(f"    {line}\n" for line in attempt["diff"].splitlines() if line[:1] in "+-@"), end="")
        print(f"then       {counts}, {attempt['verdict']}{'' if attempt['improved'] else ', no improvement'}")
    for case in answer["numeric_evidence"]["failing"][:1]:
        print(f"failing    case {case['index']} {case['dtype']} {case['shape']}: {case['reason']}")
    skipped = [e["check"] for e in answer["integrity_evidence"]["evidence"] if e["outcome"] == "skipped"]
    if answer["outcome"] == "accepted":
        print(f"verdict    {answer['why']}")
        print(f"not yet    checked: {', '.join(skipped)}")
    else:
        print(f"verdict    {answer['why'].split(';')[0]}")


def main() -> int:
    state = Path(".opmend/demo")
    shutil.rmtree(state, ignore_errors=True)
    log = str(state / "log.db")
    tasks = sorted(path.parent for path in HERE.glob("*/model.py"))
    accepted: set[str] = set()
    for task in tasks:
        print(f"\n=== {task.name}", flush=True)
        started = time.monotonic()
        done = opmend("repair", str(task), "--log", log, "--out", str(state / task.name), "--json", "--seed", "2026")
        if done.returncode not in (0, 1):
            print(f"opmend repair ended with exit code {done.returncode}")
            return done.returncode
        session = orjson.loads(done.stdout.strip().split("\n")[-1])["session"]
        answer = orjson.loads(opmend("replay", session, "--explain", "--json", "--log", log).stdout)
        tell(answer)
        print(f"--> {answer['outcome']} in {time.monotonic() - started:.0f} s (session {session})", flush=True)
        if answer["outcome"] == "accepted":
            accepted.add(task.name)
    verified = opmend("verify", "--log", log)
    print(f"\nrepaired {len(accepted)} of {len(tasks)} examples: {', '.join(sorted(accepted))}")
    print(verified.stdout or f"the log {log} verifies")
    enough = len(accepted - BEYOND_RULES) >= ENOUGH
    return 0 if enough and not accepted & BEYOND_RULES and verified.returncode == 0 else 1


if __name__ == "__main__":
    sys.exit(main())
