"""Ctrl-C, SIGTERM and the loss of the terminal (SIGHUP) as one thing: an interruption, raised as KeyboardInterrupt."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

QUIET_SECONDS = 10.0
"""A terminal that goes and a service manager send several signals at once. What the first one makes this program end
and write down is not interrupted by the others."""

Handler = Callable[[int, FrameType | None], Any]

_quiet_until = 0.0
_deferring = _pending = False


@contextmanager
def handled(handler: Handler) -> Iterator[None]:
    """Within it an interruption calls ``handler``. A SIGHUP that this program was told to ignore (nohup) stays so."""
    previous: dict[signal.Signals, Any] = {}
    numbers = [signal.SIGINT, signal.SIGTERM]
    if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:
        numbers.append(signal.SIGHUP)
    try:
        for number in numbers:
            previous[number] = signal.signal(number, handler)
        yield
    finally:
        for number, before in previous.items():
            signal.signal(number, before)


@contextmanager
def interruptible() -> Iterator[None]:
    """Within it an interruption raises KeyboardInterrupt, at once or when :func:`resume` is called."""
    global _quiet_until
    _quiet_until = 0.0
    with handled(_interrupt):
        yield


def _interrupt(number: int, frame: FrameType | None) -> None:
    global _pending
    if time.monotonic() < _quiet_until:
        return
    if _deferring:
        _pending = True
        return
    quiet()
    raise KeyboardInterrupt


def quiet(seconds: float = QUIET_SECONDS) -> None:
    """Pass over further signals for so long: the program is about to end."""
    global _quiet_until
    _quiet_until = time.monotonic() + seconds


def defer() -> None:
    """Keep an interruption back until :func:`resume`."""
    global _deferring
    _deferring = True


def resume() -> None:
    """End :func:`defer`. Raises KeyboardInterrupt if there was an interruption meanwhile."""
    global _deferring, _pending
    _deferring, pending, _pending = False, _pending, False
    if pending:
        quiet()
        raise KeyboardInterrupt
