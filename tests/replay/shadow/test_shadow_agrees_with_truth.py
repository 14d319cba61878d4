"""Whenever a shadow claims to know, running the engine anew under the other rules gives the same.

`OPMEND_SHADOW_WORLDS=2000 pytest tests/replay/shadow` runs more worlds than the few dozen that always run.
"""

from __future__ import annotations

import os
from collections import Counter

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from events.types import Bounds, Configuration
from replay.shadow.derive import derive
from replay.shadow.policy import Policy, parse
from replay.shadow.record import Record
from statemachine.consequences import judgement
from statemachine.decide import Action
from statemachine.engine import Engine, Ports
from statemachine.state import SessionState
from tests.statemachine.rehearsal import Memory, Odds, World, read_once

WORLDS = int(os.environ.get("OPMEND_SHADOW_WORLDS", "40"))
AS_RECORDED = Policy()
SINGLE = (
    "no-full-eval", "no-anti-cheat", "attempts=0", "attempts=1", "attempts=2", "attempts=3", "attempts=6", "turns=2",
    "turns=5", "turns=600", "patience=1", "patience=3", "patience=4", "progress=0.5", "progress=0.3", "progress=1",
)  # fmt: skip
COMBINED = (
    "no-full-eval,no-anti-cheat", "attempts=3,no-anti-cheat", "attempts=2,no-full-eval", "turns=4,patience=3",
    "progress=0.5,attempts=2,no-full-eval,no-anti-cheat",
)  # fmt: skip


class Ruled(Engine):
    """The engine under the rules of a policy."""

    rules = AS_RECORDED

    def _follow(self, action: Action) -> None:
        if action.verb == "anti_cheat":
            self.record(self.rules.verdict(self.state, lambda: judgement(self.state.current)))
        else:
            super()._follow(action)


def run(world: World, bounds: Bounds, policy: Policy = AS_RECORDED) -> tuple[Memory, SessionState]:
    """One session of the real engine in `world`."""
    memory = Memory()
    world.compact_only = not policy.full_eval
    ports = Ports(world, world, world, memory, memory, memory, "test")
    bounds = bounds.model_copy(update=dict(policy.bounds))
    configuration = Configuration(tolerance="cann-ecosystem/1", seed=7, bounds=bounds, blocking_findings=("gm-race",))
    engine = Ruled.open("rehearsal", ports, configuration)
    engine.rules = policy
    return memory, engine.run()


def facts(state: SessionState) -> tuple[object, ...]:
    """All that a shadow says of how a session ended."""
    attempts = tuple((a.candidate, a.improved, a.saved) for a in state.attempts)
    return state.status, state.ended, attempts, state.best, state.turns, state.tokens, len(state.refusals)


@pytest.fixture(autouse=True)
def _read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("statemachine.engine.read_statically", read_once)


worlds = st.builds(
    World,
    seed=st.integers(0, 2**32),
    odds=st.builds(
        Odds,
        compact=st.sampled_from((0.2, 0.5, 0.8)),
        full=st.sampled_from((0.2, 0.6)),
        tainted=st.sampled_from((0.0, 0.2, 0.6)),
        tainted_by_full=st.sampled_from((0.0, 0.5)),
        turns=st.sampled_from((0, 3)),
    ),
)
bounds = st.builds(Bounds, attempts=st.integers(1, 6), patience=st.integers(1, 3), turns=st.sampled_from((6, 600)))
policies = st.lists(st.sampled_from(SINGLE + COMBINED), min_size=3, max_size=3, unique=True)
_counts: Counter[str] = Counter()


@settings(
    max_examples=WORLDS,
    derandomize=True,
    deadline=None,
    database=None,
    phases=(Phase.explicit, Phase.generate),
    suppress_health_check=list(HealthCheck),
)
@given(world=worlds, bounds=bounds, names=policies)
def _agreement(world: World, bounds: Bounds, names: list[str]) -> None:
    memory, truth = run(world, bounds)
    record = Record.of("rehearsal", memory.stream)
    same = derive(record, AS_RECORDED)
    assert same.state is not None, same.reason
    assert facts(same.state) == facts(truth)
    for name in names:
        policy = parse(name)
        shadow = derive(record, policy)
        _counts[f"{name} asked"] += 1
        if shadow.state is None:
            assert shadow.reason
            continue
        _counts[f"{name} known"] += 1
        _, other = run(world, bounds, policy)
        assert facts(shadow.state) == facts(other), name
        _counts[f"{name} other"] += facts(other)[:3] != facts(truth)[:3]
        assert shadow.holds is None or shadow.holds == passes(world, other), shadow.because


def passes(world: World, state: SessionState) -> bool:
    """Pass@1 of the accepted candidate by a session of its own that has it as its near-miss, under all rules."""
    from statemachine.evaluate import evaluate
    from statemachine.findings import findings_policy
    from statemachine.integrity.judge import judge
    from statemachine.tolerance import policy

    world.compact_only = False
    now = state.current
    assert now.compiled is not None
    findings = findings_policy(state.opened.configuration)
    memory = [
        evaluate(world, world, _Digest(now.candidate), which, 7, policy("cann-ecosystem/1"), findings)  # type: ignore[arg-type]
        for which in ("compact", "full")
    ]
    verdict, _, _ = judge(
        static=now.compiled.static,
        dynamic=[item for e in memory for item in e.evidence],
        runs=[case for e in memory for case in e.cases],
    )
    return verdict == "clean" and all(e.passed for e in memory)


class _Digest:
    """A candidate by its digest: all that a world looks at."""

    files = None

    def __init__(self, digest: str) -> None:
        self.digest = digest


def test_what_a_shadow_claims_is_what_the_engine_does_under_its_rules() -> None:
    """And it claims something in a fair share of cases, also where the outcome is another one."""
    _counts.clear()
    _agreement()
    asked, known, other = (
        sum(n for name, n in _counts.items() if name.endswith(word)) for word in ("asked", "known", "other")
    )
    print(f"{asked} shadows over {WORLDS} worlds: {known} identifiable, {other} of them with another outcome")
    assert asked == 3 * WORLDS
    assert known >= 0.4 * asked
    assert other >= 0.1 * asked
    for gate in ("no-full-eval", "no-anti-cheat"):
        of_gate = {
            word: sum(n for k, n in _counts.items() if gate in k and k.endswith(word)) for word in ("asked", "known")
        }
        assert of_gate["known"] >= 0.4 * of_gate["asked"], (gate, of_gate)
