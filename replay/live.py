"""Watching a session live: the story's lines as they become durable, and a progress bar on a terminal.

All of it goes to stderr (stdout is data). With `json`, each event is one JSON line on stdout instead.
"""

from __future__ import annotations

import sys
from types import TracebackType
from typing import Self

import orjson
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TaskID, TextColumn, TimeElapsedColumn

from events.canonical import payload_of
from events.types import Event
from replay.story import line
from statemachine.state import SessionState


class LiveStory:
    """A `Listener`. Use it as a context manager so that the progress bar goes away."""

    def __init__(self, session: str, *, json: bool = False, quiet: bool = False) -> None:
        self.session = session
        self.json = json
        self.console = Console(stderr=True, highlight=False, soft_wrap=True)
        self.quiet = quiet or json
        columns = (
            SpinnerColumn(),
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
        )
        self.progress_bar = Progress(*columns, console=self.console, transient=True)
        self.live = self.console.is_terminal and not self.quiet
        self.current: tuple[str, TaskID] | None = None

    def __enter__(self) -> Self:
        if self.live:
            self.progress_bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.live:
            self.progress_bar.stop()

    def event(self, state: SessionState, event: Event) -> None:
        if self.json:
            head = {"session": self.session, "seq": state.length - 1, "at": state.last_at.isoformat()}
            body = orjson.loads(payload_of(event))
            sys.stdout.write(orjson.dumps({**head, **body}).decode() + "\n")
            sys.stdout.flush()
        elif not self.quiet and (text := line(event)) is not None:
            self.console.print(text, markup=False)

    def progress(self, what: str, done: int, total: int) -> None:
        if not self.live:
            return
        if self.current is None or self.current[0] != what:
            if self.current is not None:
                self.progress_bar.remove_task(self.current[1])
            self.current = (what, self.progress_bar.add_task(what, total=total))
        self.progress_bar.update(self.current[1], completed=done)
        if done >= total:
            self.progress_bar.remove_task(self.current[1])
            self.current = None
