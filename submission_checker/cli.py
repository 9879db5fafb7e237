"""The command ``submission-checker``."""

from __future__ import annotations

import argparse
import sys
import traceback
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any

from mlpstorage.results.text import clean

from . import __version__
from .exits import Exit, NotCheckedError, say
from .formats import FORMATS
from .outputs import AddFile, AddFormat

_CHECK = ".checking"
"""The module that checks a tree."""


def main(argv: Sequence[str] | None = None, imported: Callable[[], None] = lambda: None) -> int:
    """Run the command; ``imported`` is called when all modules are there. Gives the exit code.

    Errors of argparse itself exit with 2.
    """
    words = list(sys.argv[1:] if argv is None else argv)
    arguments = argparse.Namespace(debug=False)
    try:
        parser, module = _command(words)
        arguments = parser.parse_args(words)
        if module == _CHECK and arguments.results_dir is None:
            arguments.results_dir = _directory_among(arguments) or parser.error("RESULTS_DIR is required")
        run: Callable[[argparse.Namespace], int] = import_module(module, __package__).run
        imported()
        return run(arguments)
    except NotCheckedError as error:
        say(clean(str(error)))
        return Exit.NOT_CHECKED
    except KeyboardInterrupt:
        say("interrupted; nothing was concluded")
        return Exit.NOT_CHECKED
    except Exception as error:  # a bug must never look like a verdict
        where = f"\n{traceback.format_exc()}" if arguments.debug else " (--debug shows where)"
        say(f"fault of the checker: {type(error).__name__}: {clean(str(error))}{where}")
        return Exit.FAULT


def _command(words: list[str]) -> tuple[argparse.ArgumentParser, str]:
    """The command that the first word names, which is taken off; without one, the check of a tree.

    The module whose ``run`` does it takes a while to import: no usage error waits for that of the check.
    """
    if words[:1] == ["compare"]:
        from .compare import command as compare

        del words[0]
        return compare.parser(), ".compare.command"
    if words[:1] == ["effect"]:
        from . import effect

        del words[0]
        return effect.parser(), ".effect"
    return _parser(), _CHECK


def _jobs(text: str) -> int:
    if not text.isascii() or not text.isdigit() or not 0 < int(text) <= 1024:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of processes (1 to 1024)")
    return int(text)


class _AddAll(argparse.Action):
    """Adds the words that follow an option to its values, and remembers the last of several."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: str | Sequence[Any] | None,
        option_string: str | None = None,
    ) -> None:
        added = list(values or [])
        collected = [*getattr(namespace, self.dest), *added]
        setattr(namespace, self.dest, collected)
        if len(added) > 1:
            namespace.last_of_several = (self.dest, len(collected) - 1)


def _directory_among(arguments: argparse.Namespace) -> str:
    """RESULTS_DIR where it follows the values of an option, which took it for one of them; '' where it does not."""
    if arguments.last_of_several is None:
        return ""
    option, index = arguments.last_of_several
    found: str = getattr(arguments, option).pop(index)
    return found


def _path(text: str) -> str:
    if not text:
        raise argparse.ArgumentTypeError("it is empty; a path is wanted")
    return text


class _Parser(argparse.ArgumentParser):
    """Looks up the default edition only when its help is to be shown."""

    def format_help(self) -> str:
        import rules

        self.set_defaults(edition=rules.DEFAULT_EDITION)
        return super().format_help()


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="submission-checker",
        description="Check an MLPerf Storage results tree (or any part of one) by the rule book.",
        epilog="exit: 0 nothing at or above --fail-on; 1 violations; 2 could not check; 3 a fault of the checker. "
        "submission-checker compare BASE BASE FEATURE: is a difference between runs larger than their noise?",
        allow_abbrev=False,
    )
    parser.add_argument(
        "results_dir", metavar="RESULTS_DIR", nargs="?",
        help="the tree, a part of it, or a single run leaf: a directory, a .tar, .tar.gz or .zip of one, or "
        "s3://BUCKET/PREFIX",
    )  # fmt: skip
    parser.add_argument("--edition", help="edition of the rules (default: %(default)s)")
    parser.add_argument(
        "--format", action=AddFormat, dest="outputs", choices=sorted(FORMATS),
        help="(default: text); repeatable, each with its own --output; html and markdown are the validation report",
    )  # fmt: skip
    parser.add_argument(
        "--output", action=AddFile, dest="outputs", metavar="FILE", type=_path,
        help="write the format before it there, outside the tree (default: stdout)",
    )  # fmt: skip
    parser.add_argument(
        "--submitter", "--submitters", action=_AddAll, nargs="+", default=[], metavar="NAME",
        help="only these submitters; several, repeated or comma separated",
    )  # fmt: skip
    parser.add_argument(
        "--select", action=_AddAll, nargs="+", default=[], metavar="IDS",
        help="report only these rules, by id or prefix: 4.3.5, 4.3 (comma separated)",
    )  # fmt: skip
    parser.add_argument("--ignore", action=_AddAll, nargs="+", default=[], metavar="IDS", help="leave these rules out")
    parser.add_argument(
        "--waivers", metavar="FILE", type=_path,
        help="YAML with rulings (rule, path, reason, until): what they waive is shown and does not count",
    )  # fmt: skip
    parser.add_argument(
        "--write-waivers", metavar="FILE", type=_path,
        help="draft a waivers file for what was found; reasons are yours",
    )  # fmt: skip
    parser.add_argument(
        "--since", metavar="REPORT.json", type=_path,
        help="show and count only what is new against this earlier --format json report, and list what was cleared",
    )  # fmt: skip
    parser.add_argument(
        "--source-repo", metavar="DIR", type=_path,
        help="a clone of the tool's repository (its top), to compare code images with their commits",
    )  # fmt: skip
    parser.add_argument(
        "--deep", action="store_true",
        help="read the files of every training rank as well, and recompute utilisation from them (3.3.2 e)",
    )  # fmt: skip
    parser.add_argument("--jobs", type=_jobs, metavar="N", help="processes on this machine (default: 1)")
    parser.add_argument(
        "--executor", choices=("processes", "mpi"), default="processes",
        help="mpi: on all ranks of mpirun -n N submission-checker ... (default: %(default)s)",
    )  # fmt: skip
    parser.add_argument(
        "--fail-on", choices=("error", "warning", "never"), default="error",
        help="what exit code 1 is for (default: %(default)s)",
    )  # fmt: skip
    parser.add_argument("--verbose", action="store_true", help="show infos and remarks, not only their number")
    parser.add_argument("--debug", action="store_true", help="show where the checker itself failed")
    parser.add_argument("--version", action="version", version=f"%(prog)s {__version__}")
    parser.set_defaults(last_of_several=None)
    return parser
