"""What stands in for something else while tests run: tables.

Source: docs.python.org/3/library/unittest.mock.html.
"""

from __future__ import annotations

MOCKS = frozenset(f"unittest.mock.{name}" for name in ("Mock", "MagicMock", "AsyncMock"))
"""Objects that take any call and do nothing."""
PATCH = "unittest.mock.patch"
"""As a decorator, it replaces its target, `package.module.name`, as long as the function runs."""
NAMESPACE = "types.SimpleNamespace"
"""An object that has the attributes which it is given, and nothing else: source, the documentation
of `types`."""
