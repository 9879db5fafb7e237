"""Fixtures of the tests of system descriptions."""

from __future__ import annotations

import os
import sys

sys.path.insert(0, os.path.dirname(__file__))  # the helpers beside the tests
