"""What annotations and the bases of classes say of a value."""

from __future__ import annotations

import ast

from mpslint.semantics.names.names import Names
from mpslint.semantics.syntax.expressions import last_name
from mpslint.semantics.syntax.index import FUNCTIONS
from mpslint.semantics.terms.value import UNKNOWN, Kind, Value
from mpslint.semantics.terms.value_tables import BY_ANNOTATION


class Types:
    """Types as the file writes them."""

    def __init__(self, names: Names) -> None:
        self._names = names
        self._classes: dict[ast.ClassDef, bool] = {}

    def annotation(self, node: ast.expr | None) -> Value:
        """What an annotation says of a value."""
        if node is None:
            return UNKNOWN
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            word = node.value.rsplit(".", 1)[-1]
            return BY_ANNOTATION.get(word, UNKNOWN)
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
            sides = [self.annotation(node.left), self.annotation(node.right)]
            known = [s for s in sides if s.kind not in (Kind.UNKNOWN, Kind.OTHER)]
            return known[0] if len(known) == 1 else UNKNOWN
        if isinstance(node, ast.Subscript):
            outer = last_name(node.value)
            if outer == "Optional":
                return self.annotation(node.slice)
            return UNKNOWN
        last = last_name(node)
        name = self._names.resolve(node) or last
        if name in ("torch.Tensor", "torch.FloatTensor", "torch.LongTensor", "torch.BoolTensor"):
            return Value(Kind.TENSOR)
        if name == "torch.nn.Module":
            return Value(Kind.MODULE)
        return BY_ANNOTATION.get(last or "", UNKNOWN)

    def is_module_class(self, klass: ast.ClassDef) -> bool:
        """Whether a class of this file is an nn.Module, by its bases and their names."""
        known = self._classes.get(klass)
        if known is not None:
            return known
        self._classes[klass] = False
        for base in klass.bases:
            name = self._names.resolve(base)
            last = last_name(base) or ""
            if (
                (name is not None and name.startswith("torch.nn."))
                or last
                in (
                    "Module",
                    "LightningModule",
                    "PreTrainedModel",
                    "ModelMixin",
                    "Sequential",
                )
                or (
                    last.endswith(("PreTrainedModel", "Module", "Model"))
                    and not last.endswith("BaseModel")
                )
            ):
                self._classes[klass] = True
            elif isinstance(base, ast.Name):
                for binding in self._names.bindings(base.id, base):
                    if isinstance(binding.node, ast.ClassDef) and self.is_module_class(
                        binding.node
                    ):
                        self._classes[klass] = True
        others = [base for base in klass.bases if last_name(base) != "object"]
        if not self._classes[klass] and others:
            methods = {item.name for item in klass.body if isinstance(item, FUNCTIONS)}
            self._classes[klass] = "forward" in methods
        return self._classes[klass]
