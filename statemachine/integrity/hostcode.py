"""Host functions of a candidate's C++ read through tree-sitter: Tensor methods, operators, host loops on data.

Only functions without `__aicore__` / `__global__` count as host code. Types are inferred no further than needed: a
variable is a tensor when its declaration says so or when it is `auto` and comes from an allocation, a view or a cast.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

import tree_sitter_cpp
from tree_sitter import Language, Node, Parser

from events.types import CheckOutcome, Evidence
from statemachine.integrity import torchcpp
from statemachine.integrity.wordset import wordset

_TENSOR_TYPE = re.compile(r"(?:::\s*)?(?:at|torch)\s*::\s*Tensor")
_DEVICE_WORD = re.compile(r"\b(?:__aicore__|__global__|__simd_vf__|__host_aicore__)\b")
_DATA_POINTER = re.compile(
    r"\b(?:float|double|half|_Float16|bfloat16_t|Half|BFloat16|uint16_t|int8_t|int32_t|T|scalar_t)\s*(?:const\s*)?\*"
    r"|\bdata_ptr\s*<|\bmutable_data_ptr\s*<"
)
_STL_COMPUTE = re.compile(
    r"\bstd\s*::\s*(?:transform|accumulate|reduce|inner_product|partial_sum|inclusive_scan|exclusive_scan|sort|stable_sort"
    r"|transform_reduce|nth_element|partial_sort|exp|expf|tanh|erf|sqrtf|log)\b"
)
_KEPT = wordset("view reshape permute transpose t contiguous squeeze unsqueeze flatten expand narrow slice select")
_VALUES = _KEPT | {"to", "clone", "cpu", "detach", "new_empty", "new_zeros", "toType", "as_strided"}

#: Steps of the parser that one candidate may cost: a real one takes a few hundred, 20000 are some seconds.
PARSER_STEPS = 20_000
_CHUNK = 1 << 9  # small: the text of every node is fetched through it again


@cache
def _parser() -> Parser:
    return Parser(Language(tree_sitter_cpp.language()))


def _walk(node: Node) -> Iterator[Node]:
    stack = [node]
    while stack:
        here = stack.pop()
        yield here
        stack.extend(reversed(here.children))


def _text(node: Node | None) -> str:
    return node.text.decode() if node is not None and node.text is not None else ""


class Effort:
    """How much parsing one candidate may cost, in the parser's own steps: the same text costs the same everywhere."""

    def __init__(self, steps: int = PARSER_STEPS) -> None:
        self.left = steps

    def spend(self, offset: int, failed: bool) -> bool:
        """tree-sitter's progress callback: whether to give up."""
        self.left -= 1
        return self.left < 0


def _parse(text: bytes, effort: Effort) -> Node | None:
    """The syntax tree of `text`, or None when it costs too much."""
    try:
        tree = _parser().parse(lambda at, _: text[at : at + _CHUNK], progress_callback=effort.spend)
    except ValueError:  # given up
        tree = None
    if tree is None or effort.left < 0:
        _parser().reset()
        return None
    return tree.root_node


def read_host_code(path: str, code: str, readable: str, effort: Effort | None = None) -> list[Evidence]:
    """Findings in the host functions of one file. `code`: blanked; `readable`: the same, AscendC syntax blanked too.

    `effort` is shared by the files of one candidate; a file beyond it is flagged, which nothing settles.
    """
    ascii_code = "".join(c if c.isascii() else "_" for c in readable)
    found: list[Evidence] = []
    root = _parse(ascii_code.encode(), effort or Effort())
    if root is None:
        detail = "the host code is too tangled for the parser and was not read; make it simpler"
        return [Evidence(check="binding:too-complex", outcome="flagged", detail=detail, where=f"kernel/{path}:1")]
    for node in _walk(root):
        if node.type == "function_definition" and not _is_device(node, code):
            _Function(path, node, found).read()
    return found


def _is_device(node: Node, code: str) -> bool:
    """Device functions carry a qualifier, possibly just before the node because it was blanked."""
    body = node.child_by_field_name("body")
    end = body.start_byte if body is not None else node.end_byte
    start = max(code.rfind(c, 0, node.start_byte) for c in ";{}")
    return _DEVICE_WORD.search(code, start + 1, end) is not None


class _Function:
    def __init__(self, path: str, node: Node, found: list[Evidence]) -> None:
        self.path, self.node, self.found = path, node, found
        self.tensors: set[str] = set()

    def find(self, kind: str, outcome: CheckOutcome, detail: str, node: Node) -> None:
        where = f"kernel/{self.path}:{node.start_point.row + 1}"
        self.found.append(Evidence(check=f"binding:{kind}", outcome=outcome, detail=detail, where=where))

    def read(self) -> None:
        for node in _walk(self.node):
            if node.type in ("parameter_declaration", "declaration", "for_range_loop"):
                self._declares(node)
        for node in _walk(self.node):
            if node.type == "call_expression":
                self._call(node)
            elif node.type in ("binary_expression", "unary_expression", "update_expression") or (
                node.type == "assignment_expression" and _text(node.child_by_field_name("operator")) != "="
            ):
                self._operator(node, list(node.named_children))
        self._host_loop()

    # -------------------------------------------------------- tensors

    def _declares(self, node: Node) -> None:
        kind = node.child_by_field_name("type")
        said = _TENSOR_TYPE.fullmatch(_text(kind).strip()) is not None
        for child in node.children_by_field_name("declarator"):
            value = child.child_by_field_name("value") if child.type == "init_declarator" else None
            inferred = kind is not None and "auto" in _text(kind) and value is not None and self._is_tensor(value)
            if said or inferred:
                self.tensors.update(
                    re.findall(r"[A-Za-z_]\w*", _text(child).split("=")[0].split("(")[0].split("{")[0])[:1]
                )

    def _is_tensor(self, node: Node | None) -> bool:
        if node is None:
            return False
        if node.type == "identifier":
            return _text(node) in self.tensors
        if node.type in ("parenthesized_expression", "pointer_expression", "subscript_expression"):
            if node.type == "pointer_expression" and _text(node).startswith("&"):
                return False
            return self._is_tensor(node.named_children[0] if node.named_children else None)
        if node.type == "call_expression":
            function = node.child_by_field_name("function")
            if function is None:
                return False
            if function.type == "field_expression":
                method = _text(function.child_by_field_name("field"))
                owner = self._is_tensor(function.child_by_field_name("argument"))
                return owner and (method in _VALUES or method not in torchcpp.METHODS_ALLOWED)
            return (
                re.match(
                    r"(?:::)?(?:at|torch)\s*::\s*(?:empty|zeros|full|ones|from_blob|tensor|clone)", _text(function)
                )
                is not None
            )
        return False

    def _call(self, node: Node) -> None:
        function = node.child_by_field_name("function")
        if function is None or function.type != "field_expression":
            return
        field = function.child_by_field_name("field")
        method = re.split(r"[<\s]", _text(field))[0]
        if method in torchcpp.COMPUTE_METHODS:
            if method in ("add", "sort", "all", "any", "where", "abs", "item", "norm") and not self._rooted(function):
                return
            self.find("aten-compute", "failed", f".{method}() computes on a tensor in host code", node)
        elif self._is_tensor(function.child_by_field_name("argument")) and method not in torchcpp.METHODS_ALLOWED:
            self.find("aten-compute", "failed", f".{method}() is not metadata, allocation, view, copy or cast", node)

    def _rooted(self, node: Node) -> bool:
        """Whether a chain of calls and fields starts at a tensor."""
        here: Node | None = node
        while here is not None:
            if self._is_tensor(here):
                return True
            here = here.child_by_field_name("argument") or here.child_by_field_name("function")
        return False

    def _operator(self, node: Node, operands: list[Node]) -> None:
        if node.type == "unary_expression" and _text(node).startswith(("*", "&")):
            return
        if any(self._is_tensor(o) for o in operands):
            self.find("tensor-operator", "failed", f"operator on a tensor: {_text(node)[:60]}", node)

    # -------------------------------------------------------- host compute

    def _host_loop(self) -> None:
        body = self.node.child_by_field_name("body")
        text = _text(body)
        stl = _STL_COMPUTE.search(text)
        if stl is not None and (_DATA_POINTER.search(text) or "data_ptr" in text):
            self.find("host-compute", "flagged", f"{stl.group()} beside tensor data in host code", self.node)
        if body is None or not _DATA_POINTER.search(text):
            return
        pointers = set(re.findall(r"(?:\*\s*(?:const\s+)?|\bauto\s+)([A-Za-z_]\w*)\s*=", text))
        for loop in _walk(body):
            if loop.type in ("for_statement", "while_statement", "do_statement", "for_range_loop"):
                used = set(re.findall(r"([A-Za-z_]\w*)\s*\[", _text(loop))) | set(
                    re.findall(r"\*\s*([A-Za-z_]\w*)", _text(loop))
                )
                if used & pointers:
                    self.find(
                        "host-loop", "flagged", "a host loop over tensor data; only the kernel should compute", loop
                    )
                    return
