"""``opmend_library``: what a module's TORCH_LIBRARY registrations call in the candidate's process.

The mini torch (``compat/mini/library.h``) has no dispatcher of its own: a registration becomes one with Python's
torch.library, so that ``torch.ops.<namespace>.<operator>`` works and the dispatch spy sees it. Loaded by path into the
candidate's server, under the name that the C++ side imports. The device's key is the CPU's here.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

#: torch's words for the keys under which a function is kept; what is not listed is not needed without an NPU.
_KEYS = {
    "PrivateUse1": "CPU",
    "Meta": "Meta",
    "CompositeImplicitAutograd": "CompositeImplicitAutograd",
    "CompositeExplicitAutograd": "CompositeExplicitAutograd",
    "CatchAll": "CompositeExplicitAutograd",
}
_libraries: dict[str, torch.library.Library] = {}


def define(namespace: str, schema: str) -> None:
    """Declare an operator; ``schema`` may carry the namespace."""
    _library(namespace).define(schema.removeprefix(f"{namespace}::"))  # type: ignore[no-untyped-call]


def implement(namespace: str, name: str, key: str, function: Callable[..., Any]) -> None:
    """Give an operator a function for one dispatch key.

    torch leaves out trailing arguments that have their default value and passes keyword-only ones by name; the C++
    function takes all of them by position.
    """
    plain = name.removeprefix(f"{namespace}::")
    where = _KEYS.get(key)
    if where is None:  # the host's fallback and autograd: neither is the candidate's kernel
        return
    packet, _, overload = plain.partition(".")

    def call(*given: Any, **named: Any) -> Any:
        operator = getattr(getattr(getattr(torch.ops, namespace), packet), overload or "default")
        rest = operator._schema.arguments[len(given) :]
        return function(*given, *(named.get(item.name, item.default_value) for item in rest))

    _library(namespace).impl(plain, call, where)  # type: ignore[no-untyped-call]


def _library(namespace: str) -> torch.library.Library:
    if namespace not in _libraries:
        _libraries[namespace] = torch.library.Library(namespace, "FRAGMENT")  # type: ignore[no-untyped-call]
    return _libraries[namespace]
