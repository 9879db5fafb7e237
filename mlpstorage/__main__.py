"""``python -m mlpstorage``: the command ``mlpstorage`` where its start script is not on PATH."""

from __future__ import annotations

import sys

from .cli import main

if __name__ == "__main__":
    sys.exit(main())
