"""What can be done about findings: this one, all of its rule, all that is safe, or silence."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from lsprotocol import types
from pygls.capabilities import get_capability

from mpslint.errors import BadSource
from mpslint.findings.silencing import noqa_edits
from mpslint.model import Applicability
from mpslint.rules.registry import UNUSED
from mpslint.server.diagnostics import SOURCE, range_of
from mpslint.server.edits import Changes, differing, placed, workspace_edit
from mpslint.sources.opening import texts_by_cell

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from mpslint.model import Edit, Finding, Fix
    from mpslint.server.analysis import Analyst, Pause
    from mpslint.server.documents import Part
    from mpslint.server.fixes import Fixes
    from mpslint.sources.source import SourceFile

QUICK = types.CodeActionKind.QuickFix
FIX_ALL = f"{types.CodeActionKind.SourceFixAll.value}.{SOURCE}"
KINDS = (QUICK, FIX_ALL)


def wanted(kind: str, only: Sequence[types.CodeActionKind | str] | None) -> bool:
    """Whether a client that asks for `only` these kinds (and those below them) wants `kind`."""
    if only is None:
        return True
    plain = [str(getattr(one, "value", one)) for one in only]
    return any(kind == one or kind.startswith(f"{one}.") or not one for one in plain)


class Actions:
    """The actions for what stands at a range of one text."""

    def __init__(
        self,
        fixes: Fixes,
        analyst: Analyst,
        client: types.ClientCapabilities,
        pause: Pause,
        *,
        lazily: bool,
    ) -> None:
        """`pause` ends what nobody waits for any more; `lazily`: what changes a whole file is
        worked out when the user has chosen it."""
        self._fixes, self._analyst, self._client = fixes, analyst, client
        self._pause = pause
        # A file that is not there yet is nothing that each client can make.
        self._lazily = lazily and not analyst.makes_helper(fixes.settings)
        self._shown: Sequence[types.Diagnostic] = ()

    def at(
        self, part: Part, where: types.Range, context: types.CodeActionContext
    ) -> list[types.CodeAction]:
        self._shown, only = context.diagnostics, context.only
        found: list[types.CodeAction] = []
        if wanted(QUICK.value, only):
            found += self._quick(part, where)
        if wanted(FIX_ALL, only):
            found += self._all_safe()
        return found

    def _quick(self, part: Part, where: types.Range) -> Iterator[types.CodeAction]:
        here = [
            (number, finding, fix)
            for number, (finding, fix, _) in enumerate(self._fixes.offered)
            if self._fixes.snapshot.parts[finding.cell] is part
            # Some editors ask for all that they show on a line, wherever in it the cursor is.
            and (_touch(range_of(finding, part), where) or self._resolved(finding, part))
        ]
        for number, finding, _ in here:
            fix = self._fixes.by_itself(number)
            if fix is not None and (action := self._fix(finding, fix, part)) is not None:
                yield action
            elif fix is None and self._shows_disabled and finding.unfixed:
                yield self._without(finding, part)
        for code in dict.fromkeys(finding.code for _, finding, fix in here if fix is not None):
            yield from self._all_of_rule(code)
        for _, finding, _ in here:
            if (action := self._silence(finding, part)) is not None:
                yield action

    def _fix(self, finding: Finding, fix: Fix, part: Part) -> types.CodeAction | None:
        source = self._fixes.source
        try:
            after = source.with_edits(sorted(fix.edits))
        except BadSource:
            return None
        helper = self._analyst.new_helper(self._fixes.settings, after)
        edit = workspace_edit(
            self._fixes.snapshot, self._changes(after, fix.edits), self._client, helper
        )
        if edit is None:
            return None
        safe = fix.applicability is Applicability.SAFE
        return types.CodeAction(
            title=f"{finding.code}: {_sentence(fix.message)}{'' if safe else _mark(fix)}",
            kind=QUICK,
            diagnostics=self._resolved(finding, part),
            is_preferred=safe or None,
            edit=edit,
        )

    @property
    def _shows_disabled(self) -> bool:
        """Whether the client shows what cannot be done, with the reason."""
        return bool(
            get_capability(self._client, "text_document.code_action.disabled_support", False)
        )

    def _without(self, finding: Finding, part: Part) -> types.CodeAction:
        return types.CodeAction(
            title=f"{finding.code}: no fix",
            kind=QUICK,
            diagnostics=self._resolved(finding, part),
            disabled=types.CodeActionDisabled(finding.unfixed),
        )

    def _all_of_rule(self, code: str) -> Iterator[types.CodeAction]:
        levels = Counter(
            fix.applicability
            for finding, fix, _ in self._fixes.offered
            if finding.code == code and fix is not None
        )
        for level in (Applicability.SAFE, Applicability.UNSAFE):
            if sum(levels.values()) > 1 and levels[level]:
                unsafe = level is Applicability.UNSAFE
                end = " in this file (unsafe)" if unsafe else " in this file"
                yield from self._whole(f"Fix all {code}{end}", QUICK, code, unsafe)

    def _all_safe(self) -> Iterator[types.CodeAction]:
        offered = (fix for _, fix, _ in self._fixes.offered)
        if any(fix is not None and fix.applicability is Applicability.SAFE for fix in offered):
            title = f"Fix all that {SOURCE} can fix safely"
            yield from self._whole(title, FIX_ALL, None, False)

    def _whole(
        self, title: str, kind: types.CodeActionKind | str, code: str | None, unsafe: bool
    ) -> Iterator[types.CodeAction]:
        snapshot = self._fixes.snapshot
        data = {"uri": snapshot.uri, "stamp": snapshot.stamp, "code": code, "unsafe": unsafe}
        action = types.CodeAction(title=title, kind=kind)
        if self._lazily:
            action.data = data
            yield action
        elif (edit := self.whole_edit(code, unsafe)) is not None:
            action.edit = edit
            yield action

    def whole_edit(self, code: str | None, unsafe: bool) -> types.WorkspaceEdit | None:
        """All fixes, or those of one rule; None where they change nothing."""
        snapshot, settings = self._fixes.snapshot, self._fixes.settings
        doubts = self._fixes.doubts
        fixed = self._analyst.fix_all(
            snapshot, settings, code, self._pause, unsafe=unsafe, doubts=doubts
        )
        if fixed is None:
            return None
        before, after = fixed
        helper = self._analyst.new_helper(settings, after)
        changes = differing(snapshot, texts_by_cell(before), texts_by_cell(after))
        return workspace_edit(snapshot, changes, self._client, helper)

    def _silence(self, finding: Finding, part: Part) -> types.CodeAction | None:
        source = self._fixes.source
        edits = noqa_edits(source, [finding])
        # Of a comment that silences nothing, another comment is no cure.
        if not edits or finding.code == UNUSED:
            return None
        try:
            changes = self._changes(source.with_edits(edits), edits)
        except BadSource:
            return None
        return types.CodeAction(
            title=f"Silence {finding.code} on this line with a noqa",
            kind=QUICK,
            diagnostics=self._resolved(finding, part),
            edit=workspace_edit(self._fixes.snapshot, changes, self._client),
        )

    def _resolved(self, finding: Finding, part: Part) -> list[types.Diagnostic]:
        """The diagnostics that the editor shows for a finding."""
        where = range_of(finding, part)
        return [one for one in self._shown if one.code == finding.code and one.range == where]

    def _changes(self, after: SourceFile, edits: Sequence[Edit]) -> Changes:
        snapshot, source = self._fixes.snapshot, self._fixes.source
        plain = snapshot.parts.get(None)
        if plain is not None:
            return {None: placed(plain, edits)}
        return differing(snapshot, texts_by_cell(source), texts_by_cell(after))


def chosen(data: Any) -> tuple[str, int, str | None, bool] | None:
    """(document, its stamp, rule, unsafe) of an action that is to be worked out; None for data
    that is not ours."""
    if not isinstance(data, dict):
        return None
    uri, stamp, code, unsafe = (data.get(key) for key in ("uri", "stamp", "code", "unsafe"))
    if not isinstance(uri, str) or not isinstance(stamp, int) or not isinstance(unsafe, bool):
        return None
    return (uri, stamp, code if isinstance(code, str) else None, unsafe)


def _touch(one: types.Range, two: types.Range) -> bool:
    return _key(one.start) <= _key(two.end) and _key(two.start) <= _key(one.end)


def _key(position: types.Position) -> tuple[int, int]:
    return position.line, position.character


def _sentence(message: str) -> str:
    return message[:1].upper() + message[1:]


def _mark(fix: Fix) -> str:
    return f" ({fix.applicability.label})"
