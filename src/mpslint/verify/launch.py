"""One finished run of one program on one device, as plain data."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from mpslint.verify.contents import Saved
from mpslint.verify.sandbox.process import Ended


class Launch(NamedTuple):
    """`report` is the harness's own report (None: the process died before it could tell one, or
    `distrusted` says why it is not believed); `status` the exit status that it announced; `way_out`
    what to do about a module that it did not find and that may be the project's own.
    """

    device: str
    kind: str  # "simulated", "real" or "cpu"
    ended: Ended
    report: Mapping[str, Any] | None
    saved: Mapping[str, Saved]
    limit: float  # seconds it was given
    status: int | None = 0
    distrusted: str = ""
    way_out: str = ""

    @property
    def seconds(self) -> float:
        return self.ended.seconds

    @property
    def outcome(self) -> str:
        return str(self.report["outcome"]) if self.report else "died"

    @property
    def steps(self) -> int:
        return int(self.value("steps", 0))

    @property
    def forwards(self) -> int:
        return int(self.value("forwards", 0))

    @property
    def device_ops(self) -> int:
        return int(self.value("device_ops", 0))

    @property
    def error(self) -> dict[str, Any] | None:
        error = self.value("error", None)
        return dict(error) if error else None

    def value(self, key: str, default: Any) -> Any:
        return self.report.get(key, default) if self.report else default

    @property
    def name(self) -> str:
        """The device as a reader should see it."""
        return {"simulated": f"simulated {self.device}", "real": f"real {self.device}"}.get(
            self.kind, "cpu"
        )
