"""Modules that a framework runs which chooses the device by itself, and knows no MPS.

Who registers a model with fairseq gets the batches where fairseq's trainer puts them: on CUDA or on
the CPU. What such models alone are made of is on no Mac's GPU either; nor is what serves programs
alone that join a process group on NCCL whatever they are asked for, themselves or by a helper, be
it that they only count on having joined one (`DistributedDataParallel(net)`).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from mpslint.project.layout.import_texts import imported_modules, module_name
from mpslint.project.runs.left_behind import programs
from mpslint.semantics.gpus.several_gpus import always_joins_nccl
from mpslint.semantics.packages.frameworks import frameworks_of
from mpslint.semantics.worlds.program_ends import ends_in_cuda

if TYPE_CHECKING:
    from mpslint.project.layout.modules import Modules
    from mpslint.project.layout.whole import Projects, Whole
    from mpslint.project.uses.mentions import Mentions
    from mpslint.semantics.context import Context

_INIT = "__init__.py"
_NCCL = b"nccl"
_DISTRIBUTED = b"istributed"
"""Of `torch.distributed`, of `DistributedDataParallel`, of a helper's `init_distributed_mode`."""
_SPAWN = b"spawn"
"""`torch.multiprocessing.spawn(train.run, ...)`, by which a program starts one process a GPU."""


class Driven:
    def __init__(
        self,
        projects: Projects,
        modules: Modules,
        mentions: Mentions,
        context: Callable[[str], Context | None],
    ) -> None:
        self._projects = projects
        self._modules = modules
        self._mentions = mentions
        self._context = context
        self._speaking: dict[str, bool] = {}
        """By project: whether one of its modules is registered so."""
        self._joining: dict[str, bool] = {}
        """By program: whether it joins NCCL."""
        self._naming: dict[str, bool] = {}
        """By project: whether one of its modules names NCCL."""

    def includes(self, path: str) -> tuple[bool, tuple[str, ...]]:
        """Whether the module at the absolute `path` is one of these, and the files that this
        rests on."""
        if self._is_registered(path):
            return True, (path,)
        whole = self._projects.of(path)
        if whole is None or path not in whole.modules:
            return False, ()
        if self._is_spoken_of(whole) and self._serves(whole, path, self._is_registered):
            return True, whole.files
        if not self._names_nccl(whole):
            return False, whole.files
        published, told = self._mentions.is_published(path)
        if published:
            return False, told
        return self._serves_nccl(whole, path), (*told, *whole.files)

    def _names_nccl(self, whole: Whole) -> bool:
        if whole.head not in self._naming:
            texts = (self._modules.text(other) or b"" for other in whole.modules)
            self._naming[whole.head] = any(_NCCL in text for text in texts)
        return self._naming[whole.head]

    def _serves_nccl(self, whole: Whole, path: str) -> bool:
        """Whether only programs that join NCCL use a module, and no text shows another use."""
        if self._joins(path) or not self._serves(whole, path, self._joins):
            return False
        word = module_name(path).encode("utf-8", "replace")
        return not any(
            word in text and b"import" in text
            for text in (self._modules.text(other) or b"" for other in whole.others)
        )

    def _joins(self, path: str) -> bool:
        """Whether a program joins NCCL, or starts the processes of one that does."""
        if path not in self._joining:
            self._joining[path] = False  # Modules that import each other.
            text = self._modules.text(path) or b""
            program = self._context(path) if _NCCL in text or _DISTRIBUTED in text else None
            if program is not None and (
                (_NCCL in text and always_joins_nccl(program)) or ends_in_cuda(program.worlds.run)
            ):
                self._joining[path] = True
            elif _SPAWN in text and _NCCL not in text:
                self._joining[path] = any(
                    found is not None and self._joins(found)
                    for found in (
                        self._modules.find(path, module)[0] for module in imported_modules(text)
                    )
                )
        return self._joining[path]

    def _is_spoken_of(self, whole: Whole) -> bool:
        if whole.head not in self._speaking:
            self._speaking[whole.head] = any(map(self._is_registered, whole.modules))
        return self._speaking[whole.head]

    def _serves(self, whole: Whole, path: str, is_end: Callable[[str], bool]) -> bool:
        """Whether all that leads to a module ends in one of a kind."""
        todo, seen, found = [path], {path}, False
        while todo:
            module = todo.pop()
            if is_end(module):
                found = True
                continue
            tree = self._modules.tree(module)
            if tree is None or programs(tree):
                return False
            importing = list(self._importing(whole, module))
            if not importing and os.path.basename(module) != _INIT:
                return False  # Who uses it is not seen.
            todo += [other for other in importing if other not in seen]
            seen.update(importing)
        return found

    def _importing(self, whole: Whole, path: str) -> Iterator[str]:
        word = module_name(path)
        spoken = word.encode("utf-8", "replace")
        for other in whole.modules:
            data = self._modules.text(other) or b""
            if other == path or spoken not in data:
                continue
            for module in imported_modules(data):
                if module.rpartition(".")[2] == word:
                    if self._modules.find(other, module)[0] == path:
                        yield other
                        break

    def _is_registered(self, path: str) -> bool:
        data = self._modules.text(path) or b""
        tree = None
        for framework in frameworks_of(data):
            tree = tree or self._modules.tree(path)
            if tree is not None and framework.takes(tree):
                if self._modules.find(path, framework.package)[0] is None:
                    return not self._modules.made_around(path, framework.package)[0]
        return False
