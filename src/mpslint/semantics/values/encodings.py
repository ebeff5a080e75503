"""What tokenizers and processors make of texts and images: tensors of the CPU, whatever the model
is on.

Fact: `BatchEncoding.convert_to_tensors` and `BatchFeature` (transformers) call `torch.tensor` on
what they have, and take no device but a processor that is given one (`device="mps"`).
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from mpslint.semantics.syntax.expressions import keyword
from mpslint.semantics.syntax.index import LOOPS, Index

if TYPE_CHECKING:
    from mpslint.semantics.names.flow import Flow

_FIELDS = frozenset({"input_ids", "attention_mask", "token_type_ids", "pixel_values"})


def is_encoded(index: Index, flow: Flow, node: ast.Attribute) -> bool:
    """Whether this is a field of what a tokenizer or a processor has just made
    (`inputs = processor(text, return_tensors="pt")`, `inputs.input_ids`), and nobody has given the
    field anything else by then."""
    made = node.value
    if node.attr not in _FIELDS:
        return False
    if isinstance(made, ast.Call):
        return _makes_tensors(made)
    if not isinstance(made, ast.Name):
        return False
    bound = flow.reaching(made)
    if not bound or not all(
        one.kind == "assign" and isinstance(one.value, ast.Call) and _makes_tensors(one.value)
        for one in bound
    ):
        return False
    turns = index.enclosing(node, *LOOPS)
    return not any(
        isinstance(use.ctx, ast.Store)
        and isinstance(use.value, ast.Name)
        and use.value.id == made.id
        and index.function(use) is index.function(node)
        # What a turn makes anew has nothing of the turn before.
        and (
            use.lineno < node.lineno
            or any(index.enclosing(one.node, *LOOPS) is not turns for one in bound)
        )
        for use in index.attributes.get(node.attr, ())
    )


def _makes_tensors(call: ast.Call) -> bool:
    kind = keyword(call, "return_tensors")
    return isinstance(kind, ast.Constant) and kind.value == "pt" and keyword(call, "device") is None
