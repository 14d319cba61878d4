"""The catalogue's page speaks of every event, and only of those that exist."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from events.types import event_types

REPO = Path(__file__).parents[2]


def test_the_page_lists_every_event_once() -> None:
    listed = re.findall(r"^\| `(\w+)` \|", (REPO / "docs" / "events.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert sorted(listed) == sorted(event_types())


def test_reading_the_catalogue_or_verify_does_not_load_the_database_layer() -> None:
    program = "import sys, events.envelope, events.errors, replay.verify; print('sqlalchemy' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], cwd=REPO, capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"
