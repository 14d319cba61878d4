"""Several fork servers, so that cases run side by side on the machine's cores and come back in their order.

The first server is started early (``begin``), while a compiler runs. Others cost seconds of their own and are started
only when a set of cases turns out to take long. Which server runs a case, and how many there are, changes nothing in
its result: every case has a process of its own.
"""

from __future__ import annotations

import os
import queue
import time
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

from adapters.runner.forkserver import ForkServer

__all__ = ["ServerPool", "usable_cores"]

Item = TypeVar("Item")
Result = TypeVar("Result")

#: So many seconds of waiting for a candidate bring another server, and as many again the next.
_GROW_SECONDS = 3.0


def usable_cores() -> int:
    """The cores this process may run on."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class ServerPool:
    """At most ``workers`` servers (default: one for each core). With ``grow_seconds`` 0 they all start at once."""

    def __init__(self, workers: int | None = None, *, grow_seconds: float = _GROW_SECONDS) -> None:
        self._most = max(1, workers or usable_cores())
        self._grow_seconds = grow_seconds
        self._servers = [ForkServer()]
        self._waited = 0.0

    @property
    def first(self) -> ForkServer:
        """The server that is always there, for work that goes one case after another."""
        return self._servers[0]

    def begin(self) -> None:
        """Have the first server start while something else is done; see ``ForkServer.begin``."""
        self._servers[0].begin()

    def run(self, items: Iterator[Item], work: Callable[[ForkServer, int, Item], Result]) -> Iterator[Result]:
        """``work(server, number, item)`` for every item, in threads; results in the order of ``items``.

        ``items`` is read in the caller's thread, a few ahead. When the caller stops early, or something raises, what
        still runs is killed.
        """
        free: queue.SimpleQueue[ForkServer] = queue.SimpleQueue()
        for server in self._servers:
            free.put(server)
        waiting: deque[Future[Result]] = deque()

        def one(number: int, item: Item) -> Result:
            server = free.get()
            try:
                return work(server, number, item)
            finally:
                free.put(server)

        def next_result() -> Result:
            started = time.monotonic()
            result = waiting.popleft().result()
            self._waited += time.monotonic() - started
            return result

        executor = ThreadPoolExecutor(self._most, thread_name_prefix="opmend-case")
        try:
            for number, item in enumerate(items):
                waiting.append(executor.submit(one, number, item))
                if self._should_grow():
                    self._servers.append(ForkServer())
                    self._servers[-1].begin()
                    free.put(self._servers[-1])
                while waiting and (len(waiting) > len(self._servers) or waiting[0].done()):
                    yield next_result()
            while waiting:
                yield next_result()
        finally:
            if any(not future.cancel() and not future.done() for future in waiting):
                for server in self._servers:
                    server.kill()
            executor.shutdown(cancel_futures=True)

    def _should_grow(self) -> bool:
        """Whether candidates are what is waited for, and a core is free to run another one."""
        if len(self._servers) >= self._most or self._waited < self._grow_seconds * len(self._servers):
            return False
        return self._grow_seconds == 0.0 or os.getloadavg()[0] < usable_cores()

    def close(self) -> None:
        """End all servers and everything they started."""
        for server in self._servers:
            server.close()
