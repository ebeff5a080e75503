"""``python -m mpslint.verify.harness``: run one script on one device and write a report."""

from __future__ import annotations

import sys

from .launcher import main

sys.exit(main(sys.argv[1:]))
