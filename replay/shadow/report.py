"""Shadows as rows and as a table. Every row and every table carries the label: a shadow is not a run."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from replay.shadow import LABEL
from replay.shadow.derive import Shadow
from replay.shadow.policy import Policy
from statemachine.state import SessionState


def row(shadow: Shadow) -> dict[str, Any]:
    """One shadow as a JSON-able object; null is what the log cannot tell."""
    state, record, policy = shadow.state, shadow.record, shadow.policy
    recorded, derived = _ending(record.final), _ending(state)
    return {
        "type": "shadow",
        "label": LABEL,
        "session": record.session,
        "task": record.opened.task.name,
        "policy": policy.name,
        "identifiable": shadow.identifiable,
        "reason": shadow.reason,
        **derived,
        "attempts": state and state.current.number,
        "turns": state and state.turns,
        "tokens": None if state is None or state.tokens.unknown else state.tokens.total,
        "active_seconds": state and round(state.active_seconds, 6),
        "holds": shadow.holds,
        "because": shadow.because,
        "recorded": recorded,
        "same": None if state is None else derived == recorded,
    }


def _ending(state: SessionState | None) -> dict[str, Any]:
    """Outcome, and the candidate it is about: the accepted one, or the best checkpoint."""
    if state is None or state.outcome is None:
        return {"outcome": None, "attempt": None, "candidate": None}
    chosen = state.current if state.status == "accepted" else state.best_attempt
    return {
        "outcome": state.outcome,
        "attempt": chosen and chosen.number,
        "candidate": chosen and chosen.candidate,
    }


def total(policy: Policy, rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """What one policy makes of many sessions. Successes are counted over identifiable sessions only: recorded ones are
    accepted, shadow ones are accepted and hold; `unknown` are accepted with nothing to say whether they hold."""
    known = [r for r in rows if r["identifiable"]]
    accepted = [r for r in known if r["outcome"] == "accepted"]
    recorded = [r["recorded"]["outcome"] == "accepted" for r in known]
    success = [bool(r["holds"]) for r in known]
    return {
        "type": "shadow-total",
        "label": LABEL,
        "policy": policy.name,
        "needs": list(policy.needs),
        "assumes": list(policy.assumes),
        "sessions": len(rows),
        "identifiable": len(known),
        "accepted": len(accepted),
        "holds": sum(success),
        "fails": sum(r["holds"] is False for r in accepted),
        "unknown": sum(r["holds"] is None for r in accepted),
        "recorded_accepted": sum(recorded),
        "recorded_only": sum(a and not b for a, b in zip(recorded, success, strict=True)),
        "shadow_only": sum(b and not a for a, b in zip(recorded, success, strict=True)),
        "other_outcome": sum(r["same"] is False for r in known),
    }


def render_rows(rows: Iterable[dict[str, Any]]) -> Iterator[str]:
    """A table of shadows for people."""
    yield from _table(
        ("session", "policy", "recorded", "shadow", "holds", "why"),
        [
            (
                r["session"],
                r["policy"],
                _named(r["recorded"]),
                _named(r) if r["identifiable"] else "not identifiable",
                {True: "yes", False: "no", None: "unknown" if r["outcome"] == "accepted" else ""}[r["holds"]],
                r["reason"] or r["because"],
            )
            for r in rows
        ],
    )


def render_totals(totals: Iterable[dict[str, Any]]) -> Iterator[str]:
    """A table of policies for people, and what each needs and assumes."""
    totals = list(totals)
    names = ("sessions", "identifiable", "recorded_accepted", "accepted", "holds", "fails", "unknown", "recorded_only",
             "shadow_only")  # fmt: skip
    heads = ("policy", *(name.replace("_", " ") for name in names))
    yield from _table(heads, [(t["policy"], *(str(t[name]) for name in names)) for t in totals])
    for word in ("needs", "assumes"):
        for text in dict.fromkeys(text for t in totals for text in t[word]):
            policies = [t["policy"] for t in totals if text in t[word]]
            who = "each" if len(policies) == len(totals) > 1 else "; ".join(policies)
            yield f"{who} {word}: {text}"


def _named(ending: dict[str, Any]) -> str:
    if ending["outcome"] is None:
        return "open"
    number = "" if ending["attempt"] is None else f" {ending['attempt']}"
    return f"{ending['outcome']}{number}"


def _table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """Aligned columns under the label, as wide as their content (the last one is not wrapped)."""
    widths = [max(len(line[i]) for line in (heads, *rows)) for i in range(len(heads))]
    yield LABEL
    for line in (heads, *rows):
        yield "  ".join(text.ljust(width) for text, width in zip(line, widths, strict=True)).rstrip()
