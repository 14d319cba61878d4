"""Speed, run by `make bench` and never part of `make test`: how long the product takes beside the least it could take.

Seconds of one machine say little on another, so every group has a floor that is measured in the same run (the plain
tool doing the bare work), and the figure is the ratio of the medians, per unit of work. A group with two sizes shows
whether the cost is linear: then the ratio stays. Nothing here asserts a speed; what is asserted is that the timed work
gave the right result. The table of ratios ends the run, after pytest-benchmark's own table of raw timings.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import pytest
import torch

from adapters.ascendc.cpu.build import warm_up

CHECK_LEVEL = 3


@dataclass(frozen=True)
class Figure:
    """One timed thing: `seconds` is the median per `unit`."""

    group: str
    what: str
    seconds: float
    unit: str
    floor: bool


FIGURES = pytest.StashKey[list[Figure]]()


@dataclass(frozen=True)
class Goal:
    """A figure with what it should be at most (None: nothing is asked of it)."""

    what: str
    value: float
    most: float | None
    unit: str
    how: str


GOALS = pytest.StashKey[list[Goal]]()
Reach = Callable[[str, float, float | None, str, str], None]


class Timed(Protocol):
    """Time `work` and put it into the table; returns what the last call of `work` returned.

    `units`: how many `unit`s one call does. `setup` runs untimed before each call; the tuple it returns, if any, is
    pytest-benchmark's `(args, kwargs)` for `work`. `floor`: this is the group's floor.
    """

    def __call__(
        self,
        group: str,
        what: str,
        work: Callable[..., Any],
        *,
        units: int = 1,
        unit: str = "call",
        rounds: int = 5,
        setup: Callable[[], Any] | None = None,
        floor: bool = False,
    ) -> Any: ...


@pytest.fixture
def timed(benchmark: Any, request: pytest.FixtureRequest) -> Timed:
    def time(
        group: str,
        what: str,
        work: Callable[..., Any],
        *,
        units: int = 1,
        unit: str = "call",
        rounds: int = 5,
        setup: Callable[[], Any] | None = None,
        floor: bool = False,
    ) -> Any:
        benchmark.group = group
        result = benchmark.pedantic(work, setup=setup, rounds=rounds, iterations=1, warmup_rounds=1)
        if benchmark.stats is not None:  # None with --benchmark-disable
            seconds = benchmark.stats.stats.median / units
            request.config.stash[FIGURES].append(Figure(group, what, seconds, unit, floor))
        return result

    return time


@pytest.fixture
def reach(request: pytest.FixtureRequest) -> Reach:
    """`reach(what, value, goal, unit, how)` puts a figure into the table of goals."""
    return lambda *figure: request.config.stash[GOALS].append(Goal(*figure))


@pytest.fixture(scope="session")
def builds(cache: Path) -> Path:
    """The build cache of the tests, with all that does not depend on a candidate made already."""
    for level in (0, CHECK_LEVEL):
        warm_up(cache / "builds", level=level)
    return cache / "builds"


@pytest.fixture(scope="session")
def own_cache(builds: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cache that starts with the device's own parts and is thrown away with the candidates that are built in it."""
    cache = tmp_path_factory.mktemp("bench-cache")
    (cache / "builds").mkdir()
    for kind in ("header", "runtime"):
        (cache / "builds" / kind).symlink_to(builds / kind, target_is_directory=True)
    return cache


@pytest.fixture(scope="session", autouse=True)
def one_thread() -> Iterator[None]:
    """torch with one thread, as candidates have."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


# ---------------------------------------------------------------- the table


def pytest_configure(config: pytest.Config) -> None:
    config.stash[FIGURES] = []
    config.stash[GOALS] = []


@pytest.hookimpl(trylast=True)
def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    figures = config.stash[FIGURES]
    if figures:
        _write_figures(terminalreporter, figures)
    if config.stash[GOALS]:
        _write_goals(terminalreporter, config.stash[GOALS])


def _write_goals(terminalreporter: pytest.TerminalReporter, goals: list[Goal]) -> None:
    terminalreporter.section("goals")
    wide = max(len(goal.what) for goal in goals)
    for goal in goals:
        asked = "" if goal.most is None else f"goal <= {goal.most:g}: {'met' if goal.value <= goal.most else 'NOT MET'}"
        terminalreporter.write_line(f"  {goal.what:<{wide}}  {goal.value:>6.3g} {goal.unit:<8} {asked:<20}  {goal.how}")


def _write_figures(terminalreporter: pytest.TerminalReporter, figures: list[Figure]) -> None:
    terminalreporter.section("speed beside the floor of the same run (medians)")
    wide = max(len(figure.what) for figure in figures)
    for group in dict.fromkeys(figure.group for figure in figures):
        terminalreporter.write_line(group)
        members = [figure for figure in figures if figure.group == group]
        floor = next((figure for figure in members if figure.floor), None)
        for figure in sorted(members, key=lambda figure: not figure.floor):
            ratio = _ratio(figure.seconds / floor.seconds) if floor and figure is not floor else ""
            time = f"{_readable(figure.seconds)}/{figure.unit}"
            rate = f"{1 / figure.seconds:,.0f}/s" if figure.seconds < 0.1 else ""
            what = f"floor: {figure.what}" if figure.floor else figure.what
            terminalreporter.write_line(f"  {what:<{wide + 7}}{time:>14}{rate:>12}{ratio:>10}".rstrip())


def _ratio(value: float) -> str:
    return f"{value:,.0f} x" if value >= 100 else f"{value:.3g} x"


def _readable(seconds: float) -> str:
    for scale, unit in ((1.0, "s"), (1e-3, "ms"), (1e-6, "us")):
        if seconds >= scale:
            return f"{seconds / scale:.3g} {unit}"
    return f"{seconds / 1e-9:.3g} ns"
