"""The vocabulary of forensics: every feature name, its class (F-number) and its meaning, in one place.

A pattern's precondition (kb/patterns) may use only these names, or one of the two open families: `finding:<kind>` (a
sanitizer finding of that kind was seen) and `status:<word>` (a run ended with that status).
"""

from __future__ import annotations

#: name -> (class, meaning). F1..F16 are the feature classes of the knowledge notes; X is what the cases say together.
VOCABULARY: dict[str, tuple[str, str]] = {
    "tail-only": ("F1", "bad elements lie only at the end of the tensor, or at the end of each row"),
    "granule-edge": ("F2", "bad elements lie only in 32-byte granules that straddle two rows"),
    "period": ("F3", "the bad mask repeats with a fixed period (fact `period`, in elements)"),
    "first-ok": ("F4", "everything before some row or element (fact `start`) is right, most of what follows is wrong"),
    "shift": ("F5", "actual[i] equals expected[i+k] on the bad set (fact `k`), or drifts by k per row (fact `drift`)"),
    "constant-run": ("F6", "the bad elements are all zero, all NaN (unwritten memory) or all the same value"),
    "dtype-contrast": ("F8", "some element types fail on every case and others pass on every case"),
    "length-trend": ("F9", "the error grows with the length of the last dimension (fact `slope`, log-log)"),
    "magnitude-trend": ("F10", "bad elements are those with large (fact `large`) or small expected magnitude"),
    "overflow": ("F10", "expected is finite where actual is infinite or NaN"),
    "ties-only": ("F11", "the bad elements are off by exactly one unit in the last place (or one integer step)"),
    "special-map": ("F12", "NaN, infinity or the sign of zero is confused with something else"),
    "scale-factor": ("F13", "actual / expected is one constant on the bad set (fact `ratio`)"),
    "row-scale": ("F13", "actual / expected is one constant in each row, another in the next"),
    "offset-constant": ("F13", "actual - expected is one constant per tile: a carry or an offset was left out"),
    "size-threshold": ("F14", "cases fail exactly above a size (facts `low`, `high`: the bracket of the bound)"),
    "fails-small": ("F14", "cases fail exactly below a size (facts `low`, `high`: the bracket of the bound)"),
    "multi-row-fails": ("F14", "every case of a single row passes, cases of several rows fail"),
    "layout": ("F15", "actual equals expected with its last two axes swapped"),
    "row-local": ("F4", "whole rows are wrong while other rows are completely right"),
    "all-bad": ("X", "practically every element is wrong"),
    "scattered": ("X", "few elements are wrong, with no visible structure in their positions"),
    "uniform-small-error": ("X", "most elements are slightly off, by about the same relative amount"),
    "non-comparable": ("X", "wrong dtype or shape, or no output at all"),
    "fails-unaligned": ("F1", "cases fail exactly when the last dimension (or the whole) is no multiple of 32 bytes"),
    "fails-aligned": ("F1", "cases fail exactly when the length is a multiple of 32 bytes: the path without a tail"),
    "modulo-fails": ("F1", "cases fail exactly when the last dimension is no multiple of fact `modulus`"),
    "modulo-only": ("F1", "cases fail exactly when the last dimension is a multiple of fact `modulus`: no tail"),
    "attribute-contrast": ("X", "failing and passing cases are told apart by one attribute of the case"),
    "every-case-fails": ("X", "no case of the set passes"),
}

#: Open families of feature names: prefix -> meaning.
FAMILIES: dict[str, str] = {
    "finding:": "the sanitizer reported a finding of this kind (`kind`, and `kind:api` for one call)",
    "status:": "a run of the candidate ended with this status instead of an output",
}


def known(name: str) -> bool:
    """Whether `name` is a feature that forensics may produce."""
    return name in VOCABULARY or any(name.startswith(prefix) and len(name) > len(prefix) for prefix in FAMILIES)


def meaning(name: str) -> str:
    """One line for people; raises KeyError for a name outside the vocabulary."""
    if name in VOCABULARY:
        return VOCABULARY[name][1]
    for prefix, text in FAMILIES.items():
        if name.startswith(prefix):
            return f"{text}: {name[len(prefix) :]}"
    raise KeyError(f"{name!r} is not in the forensics vocabulary (statemachine/forensics/vocabulary.py)")


#: Findings that are also evidence for what another kind of finding is evidence for.
_ALSO = {"ub-filler": "ub-uninitialised"}


def finding_features(kind: str, api: str) -> list[str]:
    """Names of the features that a finding is: `finding:<kind>`, with its API, and those of a kind it implies."""
    kinds = [kind, *([_ALSO[kind]] if kind in _ALSO else [])]
    return [f"finding:{name}" for each in kinds for name in ((each, f"{each}:{api}") if api else (each,))]
