"""The rules worker: best untried edit, on the best checkpoint, one hypothesis at a time, and an honest end."""

from __future__ import annotations

from dataclasses import replace

from adapters.workers.rules import RulesWorker
from events.types import Event, Feature, KnowledgeRetrieved, Mechanism
from kb.knowledge import PatternBase
from statemachine.candidate import Candidate
from statemachine.ports import Brief, GiveUp, Proposal, Tried

KERNEL = """template <typename T> class Op {
    __aicore__ inline void In(uint32_t i, uint32_t n) {
        LocalTensor<T> t = queue.AllocTensor<T>();
        DataCopy(t, src[i], n);
        queue.EnQue(t);
    }
    __aicore__ inline void Out(uint32_t i, uint32_t n) {
        LocalTensor<T> t = queue.DeQue<T>();
        DataCopy(dst[i], t, n);
        queue.FreeTensor(t);
    }
    GlobalTensor<T> src, dst;
};
"""


class Record:
    """A floor that keeps what was put on the record."""

    def __init__(self) -> None:
        self.events: list[Event] = []

    def record(self, event: Event) -> None:
        self.events.append(event)

    def blob(self, data: bytes) -> str:
        raise AssertionError("the rules worker stores nothing")


def brief(*names: str, tried: tuple[Tried, ...] = (), text: str = KERNEL) -> Brief:
    files = {"op.h": text}
    digest = Candidate(files).digest
    return Brief(
        attempt=1 + len(tried), task="t", reference="", wrapper="", base=digest, sources=files, best=digest,
        best_sources=files, compact=(), failing=({"dtype": "float32", "shape": [9]},) if names else (),
        features=tuple(Feature(name=name, strength=1.0) for name in names),
        mechanisms=(Mechanism(name="a copy handles only whole 32-byte blocks", score=1.0),), findings=(), tried=tried,
        budget_left={}, text="",
    )  # fmt: skip


def diff_of(proposal: Proposal, text: str = KERNEL) -> str:
    base = Candidate({"op.h": text})
    return base.with_files(proposal.files).diff_from(base)


def attempted(proposal: Proposal, number: int, improved: bool = False) -> Tried:
    return Tried(number, proposal.pattern, proposal.rationale, diff_of(proposal), "compact 1/4", improved)


def proposed(given: Brief) -> Proposal:
    answer = RulesWorker(PatternBase()).propose(given, Record())
    assert isinstance(answer, Proposal)
    return answer


def test_it_proposes_the_best_edit_and_records_the_retrieval() -> None:
    floor = Record()
    given = brief("fails-unaligned", "tail-only")
    answer = RulesWorker(PatternBase()).propose(given, floor)
    assert isinstance(answer, Proposal)
    assert answer.pattern == "ALN-01"
    assert answer.base == given.best
    assert answer.files["op.h"].count("DataCopyPad(") == 2
    assert "fails-unaligned" in answer.rationale
    (event,) = floor.events
    assert isinstance(event, KnowledgeRetrieved)
    assert event.snapshot == PatternBase().snapshot()
    assert event.entries[0][0] == "ALN-01"


def test_it_never_repeats_an_edit_and_ends_with_what_it_tried() -> None:
    tried: tuple[Tried, ...] = ()
    worker = RulesWorker(PatternBase())
    for number in range(1, 20):
        answer = worker.propose(brief("fails-unaligned", "tail-only", tried=tried), Record())
        if isinstance(answer, GiveUp):
            break
        assert diff_of(answer) not in {earlier.diff for earlier in tried}
        tried = (*tried, attempted(answer, number))
    assert isinstance(answer, GiveUp)
    assert tried
    assert "ALN-01 (compact 1/4)" in answer.reason
    assert "leading hypothesis: a copy handles" in answer.reason


def test_an_edit_counts_as_tried_when_other_lines_have_moved() -> None:
    first = proposed(brief("fails-unaligned"))
    moved = "// a line more\n\n" + KERNEL
    again = proposed(brief("fails-unaligned", tried=(attempted(first, 1),), text=moved))
    minus_plus = [
        line for line in diff_of(again, moved).splitlines() if line[:1] in "+-" and line[:3] not in ("+++", "---")
    ]
    before = [line for line in diff_of(first).splitlines() if line[:1] in "+-" and line[:3] not in ("+++", "---")]
    assert minus_plus != before


def test_another_hypothesis_gets_its_turn_after_a_miss() -> None:
    text = KERNEL.replace(
        "DataCopy(t, src[i], n);", "DataCopy(t, src[i], n);\n        Cast(t, t, RoundMode::CAST_ROUND, n);"
    )
    given = brief("fails-unaligned", "ties-only", text=text)
    first = proposed(given)
    missed = Tried(1, first.pattern, "", diff_of(first, text), "compact 1/4", False)
    second = proposed(replace(given, tried=(missed,)))
    assert first.pattern != second.pattern
    assert {first.pattern, second.pattern} == {"ALN-01", "CST-01"}


def test_it_works_on_the_best_checkpoint_when_another_candidate_stands() -> None:
    given = brief("fails-unaligned")
    standing = {"op.h": KERNEL.replace("DataCopy", "Broken")}
    answer = proposed(replace(given, base=Candidate(standing).digest, sources=standing))
    assert answer.base == given.best
    assert "Broken" not in answer.files["op.h"]


def test_nothing_wrong_means_nothing_to_propose() -> None:
    answer = RulesWorker(PatternBase()).propose(brief(), Record())
    assert isinstance(answer, GiveUp)
    assert "no numeric fault" in answer.reason


def test_it_is_deterministic_and_names_itself() -> None:
    given = brief("fails-unaligned", "size-threshold")
    assert proposed(given) == proposed(given)
    assert RulesWorker(PatternBase()).identity().kind == "rules"
