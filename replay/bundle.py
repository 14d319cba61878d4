"""Export and import: one session as one file that a stranger can check without us, and without anything of ours.

An export is a log with one session in it, the stream of evaluations made after it if there is one, the blobs that their
events name, and a receipt of each: every command that reads a log
reads it (`opmend verify FILE`, `replay FILE`, `diff FILE`). Redaction withholds blobs, never events; the digests that
stay in the events and in the manifests keep the chain checkable, and the receipt lists what was withheld.
"""

from __future__ import annotations

import sqlite3
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, closing
from datetime import datetime
from pathlib import Path
from typing import Literal, get_args

from events.blobs import candidates_of, files_of
from events.errors import BlobWithheld, LogUnavailable
from events.log import SqlLog
from events.receipts import Receipt, parse
from events.types import Event, blob_refs
from replay.sealing import check_stored, seal
from replay.verify import Finding, verify
from statemachine.posthoc import stream_of

Redaction = Literal["none", "prompts", "sources", "all"]
REDACTIONS: tuple[str, ...] = get_args(Redaction)

#: What the blobs of each field hold. A prompt quotes sources, so who withholds sources withholds prompts as well.
#: A field that is not here is withheld by every redaction; `manifest` never is (names and digests of files).
HOLDS: dict[tuple[str, str], str] = {
    ("ForensicsRecorded", "brief"): "prompt",
    ("ConversationStarted", "brief"): "prompt",
    ("TurnStarted", "request"): "prompt",
    ("TurnTaken", "response"): "prompt",
    ("PatchProposed", "diff"): "source",
    ("PatchRefused", "proposal"): "source",
    ("CompileFinished", "log"): "source",
    ("ProbeRecorded", "result"): "measurement",
}
_KEPT: dict[Redaction, frozenset[str]] = {
    "none": frozenset({"prompt", "source", "measurement", "manifest", ""}),
    "prompts": frozenset({"source", "measurement", "manifest"}),
    "sources": frozenset({"measurement", "manifest"}),
    "all": frozenset({"manifest"}),
}


def export(
    log: SqlLog, session: str, out: Path, at: datetime, *, redact: Redaction = "none", key: Path | None = None
) -> tuple[Receipt | None, list[Finding]]:
    """Write `session`, and the stream of evaluations made after it, to the new file `out`.

    Returns the receipt of the session, or None with the findings for which the export is refused.

    Raises NoSuchSession, ReceiptUnusable (key), LogUnavailable (the file exists, or cannot be written).
    """
    if out.exists():
        raise LogUnavailable(f"{out} exists and is not overwritten: name another file with --out")
    beside = stream_of(session)
    streams = [session, *(name for name in log.sessions() if name == beside)]
    contents: dict[str, set[str]] = {}
    for stream in streams:
        for digest, holds in _contents(log, stream).items():
            contents.setdefault(digest, set()).update(holds)
    kept = {digest for digest, kinds in contents.items() if kinds <= _KEPT[redact]}
    blobs, absent = [], set[str]()
    for digest in kept:
        try:
            blobs.append(log.get(digest))
        except BlobWithheld:
            absent.add(digest)
    withheld = tuple(sorted(contents.keys() - kept | absent))
    receipts = []
    for stream in streams:
        receipt, findings = seal(log, stream, at, key=key, withheld=withheld)
        if receipt is None:
            return None, findings
        receipts.append(receipt)
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".opmend-export-", dir=out.parent) as folder:
            made = Path(folder) / "export"
            with SqlLog(made) as target:
                target.adopt([envelope for stream in streams for envelope in log.read(stream)], blobs, receipts)
            with closing(sqlite3.connect(made)) as connection:  # one file: no -wal beside it
                connection.execute("PRAGMA journal_mode=DELETE").fetchall()
            made.rename(out)
    except OSError as error:
        raise LogUnavailable(f"{out} cannot be written: {error}") from error
    return receipts[0], []


def adopt(source: SqlLog, target: SqlLog) -> tuple[dict[str, int], list[Finding]]:
    """Import all streams of `source`: name to number of new events; or nothing, with the findings that forbid it.

    Raises LogConflict when `target` has another session of that name, LogBusy when an engine works on it there.
    """
    findings = [*verify(source), *check_stored(source)]
    if findings:
        return {}, findings
    streams = source.sessions()
    contents = {digest for stream in streams for digest in _contents(source, stream)}
    receipts = [parse(bytes(document), "a receipt") for _, _, document in source.receipts()]
    with ExitStack() as owned:
        for stream in streams:
            owned.enter_context(target.writer(stream))
        return target.adopt(list(source.read_all()), _present(source, contents), receipts), []


def _present(log: SqlLog, digests: Iterable[str]) -> Iterator[bytes]:
    for digest in digests:
        try:
            yield log.get(digest)
        except BlobWithheld:
            continue


def _contents(log: SqlLog, session: str) -> dict[str, set[str]]:
    """Every blob that the session's events name, with what it holds (`HOLDS`, `manifest`; empty: unknown)."""
    contents: dict[str, set[str]] = {}
    for envelope in log.read(session):
        event = envelope.event()
        manifests = set(candidates_of(event)) & set(blob_refs(event))
        for field, digest in _named(event):
            holds = "manifest" if digest in manifests else HOLDS.get((event.type, field), "")
            contents.setdefault(digest, set()).add(holds)
        for digest in manifests:
            try:
                files = files_of(log.get(digest))
            except (BlobWithheld, ValueError):  # what is no manifest, `seal` refuses
                continue
            for name in files.values():
                contents.setdefault(name, set()).add("source")
    return contents


def _named(event: Event) -> Iterator[tuple[str, str]]:
    digests = set(blob_refs(event))
    for field in type(event).model_fields:
        value = getattr(event, field)
        if isinstance(value, str) and value in digests:
            yield field, value
