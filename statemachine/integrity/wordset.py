"""Sets of names written as plain text, so that the vocabularies of the readers stay readable."""

from __future__ import annotations


def wordset(text: str) -> frozenset[str]:
    """The words of `text`, split at blanks."""
    return frozenset(text.split())
