"""Where reports go: several formats in one run, each to a file of its own, one of them to the terminal."""

from __future__ import annotations

import argparse
import contextlib
import gzip
import io
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING, Any

from mlpstorage.results.text import clean

from .exits import NotCheckedError
from .formats import FORMATS, STREAMS, Format, Style

if TYPE_CHECKING:
    from rules import Finding

    from .formats.jsonl import Stream
    from .report import CheckReport

_PIECE = 2**16
"""Characters of a report that are unpacked at once."""


class OutputError(NotCheckedError):
    """A report cannot go where it shall; the text says why."""


@dataclass(slots=True)
class Output:
    """A format and the file it goes to; without one, the standard output."""

    format: str = ""
    path: str | None = None


class AddFormat(argparse.Action):
    """``--format``: begins an output, or names the format of a file that was given before any format."""

    def __call__(
        self, parser: argparse.ArgumentParser, namespace: argparse.Namespace, values: Any, option: str | None = None
    ) -> None:
        """Note the format."""
        outputs = _outputs(namespace)
        if outputs and not outputs[-1].format:
            outputs[-1].format = values
        else:
            outputs.append(Output(values))


class AddFile(argparse.Action):
    """``--output``: the file of the format before it."""

    def __call__(
        self, parser: argparse.ArgumentParser, namespace: argparse.Namespace, values: Any, option: str | None = None
    ) -> None:
        """Note the file."""
        outputs = _outputs(namespace)
        if outputs and outputs[-1].path is None:
            outputs[-1].path = values
        else:
            outputs.append(Output("", values))


def _outputs(namespace: argparse.Namespace) -> list[Output]:
    found: list[Output] | None = getattr(namespace, "outputs", None)
    if found is None:
        found = namespace.outputs = []
    return found


def outputs_of(given: Sequence[Output] | None, default: str) -> list[Output]:
    """The outputs of a command line, ``default`` where no format is named. Raises OutputError."""
    outputs = [Output(output.format or default, output.path) for output in given or [Output()]]
    if len(outputs) > 1 and not all(output.format for output in given or ()):
        raise OutputError("each --output goes with the --format before it: one of them has no format")
    terminal = [output.format for output in outputs if output.path is None]
    if len(terminal) > 1:
        raise OutputError(
            f"{' and '.join(terminal)} would both go to the standard output: give --output FILE after each but one"
        )
    files = [os.path.realpath(output.path) for output in outputs if output.path is not None]
    for file in files:
        if files.count(file) > 1:
            raise OutputError(f"two reports would go to {clean(file)}")
    return outputs


def refuse_unwritable(path: str, option: str) -> None:
    """Tell before the work that a file could not be written after it. Raises OutputError."""
    directory = os.path.dirname(path) or "."
    if os.path.isdir(path):
        problem = "Is a directory"
    elif not os.path.isdir(directory):
        problem = f"there is no directory {clean(directory)}"
    elif not os.access(path if os.path.exists(path) else directory, os.W_OK):
        problem = "Permission denied"
    else:
        return
    raise OutputError(f"{option} {clean(path)}: {problem}")


class Sink(io.TextIOBase):
    """Writes to a file, or to the standard output where ``path`` is None; opens nothing before the first text.

    A reader of a pipe that stops early is no error. Raises OutputError where a file cannot be written.
    """

    def __init__(self, path: str | None) -> None:
        self._path = path
        self._file: IO[str] | None = None

    def open(self) -> IO[str]:
        """What is written to, opened if it was not: so that a report that says nothing has its file, too."""
        if self._file is None:
            with self._errors():
                self._file = self._open()
        return self._file

    def write(self, text: str) -> int:
        """Write all of the text."""
        file = self.open()
        with self._errors():
            file.write(text)
        return len(text)

    def flush(self) -> None:
        """Hand on what was written."""
        if self._file is not None and not self._file.closed:
            with self._errors():
                self._file.flush()

    def close(self) -> None:
        """Flush, and close a file."""
        self.flush()
        if self._file is not None and self._path is not None:
            self._file.close()
        super().close()

    def _open(self) -> IO[str]:
        if self._path is not None:
            return open(self._path, "w", encoding="utf-8", newline="\n")
        if sys.stdout is None:
            raise OutputError("the standard output is closed: redirect it to a file")
        if isinstance(sys.stdout, io.TextIOWrapper):  # a terminal that lacks a character gets its escape
            sys.stdout.reconfigure(errors="backslashreplace")
        return sys.stdout

    @contextlib.contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            yield
        except BrokenPipeError:  # the reader has seen enough; the exit code still says what was found
            with contextlib.suppress(OSError), open(os.devnull, "wb") as nowhere:
                os.dup2(nowhere.fileno(), self.open().fileno())
        except OSError as error:
            where = "the standard output" if self._path is None else f"--output {clean(self._path)}"
            raise OutputError(f"{where}: {os.strerror(error.errno or 0)}") from error


class Writers:
    """Writes one report in several formats; those that stream get each finding that ``keeps`` keeps when it is found.

    Without ``keeps`` nothing is told before the report is complete.
    """

    def __init__(self, outputs: Iterable[Output], keeps: Callable[[Finding], bool] | None) -> None:
        self._keeps = keeps
        self._targets: list[tuple[Output, Sink, Stream | None]] = []
        for output in outputs:
            sink = Sink(output.path)
            stream = STREAMS[output.format](sink) if keeps and output.format in STREAMS else None
            self._targets.append((output, sink, stream))

    def found(self, findings: Sequence[Finding]) -> None:
        """Hand findings on to the formats that stream."""
        for _, _, stream in self._targets:
            if stream is not None:
                stream.found(filter(self._keeps, findings))

    def write(self, report: CheckReport, style: Style) -> None:
        """Write all that is not written yet. Raises OutputError."""
        for output, sink, stream in self._targets:
            if stream is not None:
                stream.close(report)
            else:
                _write_whole(FORMATS[output.format], report, style, sink)
            sink.close()


def _write_whole(write: Format, report: CheckReport, style: Style, sink: Sink) -> None:
    """Write a report once all of it is made: a format that fails leaves no half of one. Until then it is packed."""
    packed = io.BytesIO()
    with gzip.open(packed, "wt", 1, "utf-8", "surrogatepass", "") as text:
        write(report, text, style)
    packed.seek(0)
    sink.open()
    with gzip.open(packed, "rt", encoding="utf-8", errors="surrogatepass", newline="") as text:
        while piece := text.read(_PIECE):
            sink.write(piece)
