"""Pieces of work for the executors; in a module of their own, for other processes must find them."""

from __future__ import annotations

import os
import signal
from dataclasses import dataclass


@dataclass(frozen=True)
class Piece:
    path: str
    weight: int = 1


def echo(piece: Piece) -> str:
    return piece.path


def die_at_bad(piece: Piece) -> str:
    if piece.path == "bad":
        os.kill(os.getpid(), signal.SIGKILL)
    return piece.path


def fail_at_bad(piece: Piece) -> str:
    if piece.path == "bad":
        raise ValueError("a defect")
    return piece.path
