"""One fork server and one build cache for all examples, and a way to load an example."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from adapters.runner.client import ForkServer
from adapters.tasks import DirectTask, load_task
from tests.examples.trial import EXAMPLES, Workshop

LoadExample = Callable[[str], DirectTask]


@pytest.fixture(scope="session")
def workshop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Workshop]:
    with ForkServer() as server:
        yield Workshop(tmp_path_factory.mktemp("examples"), server)


@pytest.fixture(scope="session")
def load_example(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LoadExample]:
    """Load an example by name; each is loaded once, so that its reference makes each case once."""
    cache = tmp_path_factory.mktemp("example-cases")
    loaded: dict[str, DirectTask] = {}

    def load(name: str) -> DirectTask:
        if name not in loaded:
            loaded[name] = load_task(EXAMPLES / name, cache=cache)
        return loaded[name]

    yield load
    for task in loaded.values():
        task.close()
