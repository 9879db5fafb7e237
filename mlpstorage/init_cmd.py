"""``mlpstorage init ORG RESULTS_DIR``: make a results directory an organisation's own.

Writes ``mlperf-results.yaml``, from which runs take the organisation where no option or variable names one. It marks a
directory that is worked with; a package that is submitted has none.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import yaml

from . import __version__, output
from .checkpointing.exits import Parser, UsageError
from .checkpointing.values import checked_name
from .results import layout
from .results.document import read_yaml
from .results.roots.local import LocalRoot
from .results.text import clean, shorten
from .results.write import write_text

VERSION = 1
KEYS = ("mlperf_results_version", "orgname", "initialized_at", "initialized_by")

EPILOG = """\
exit status:
  0    RESULTS_DIR belongs to ORG (it may have done so before)
  1    it belongs to another organisation, or its file cannot be used: nothing was changed
  2    the command line is wrong, or the directory cannot be written
"""


class OtherOwnerError(Exception):
    """The directory has a file that does not say what was asked for; the text tells what it says."""


def parser() -> Parser:
    """The parser of everything after ``mlpstorage init``."""
    result = Parser(
        prog="mlpstorage init",
        description="Make RESULTS_DIR the results directory of an organisation.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    result.add_argument("orgname", metavar="ORG", help="submitter: letters, digits, '.', '_' and '-'")
    result.add_argument("results_dir", metavar="RESULTS_DIR", help="made where it does not exist")
    return result


def main(arguments: Sequence[str]) -> int:
    """Run the command with the arguments after ``init``. Returns the exit code; raises SystemExit for ``--help``."""
    try:
        options = parser().parse(arguments)
        organisation = checked_name("ORG", options.orgname)
        if organisation is None:
            raise UsageError("ORG is empty")
        if not options.results_dir.strip():
            raise UsageError("RESULTS_DIR is empty; name a directory, or . for this one")
        new = initialise(Path(options.results_dir), organisation)
    except OtherOwnerError as error:
        output.last_words(f"mlpstorage init: {error}")
        return 1
    except UsageError as error:
        output.last_words(f"mlpstorage init: {error}")
        return 2
    except OSError as error:
        where = clean(str(error.filename or options.results_dir))
        output.last_words(f"mlpstorage init: {where}: {error.strerror or error}")
        return 2
    path = Path(options.results_dir) / layout.SENTINEL
    print(f"{path}: {'written' if new else 'already there'}; runs into {options.results_dir} are {organisation}'s")
    return 0


def initialise(results: Path, organisation: str) -> bool:
    """Write the file where there is none; tells whether it did.

    Raises OtherOwnerError where one is there that names another organisation or is none of ours, and OSError.
    """
    results.mkdir(parents=True, exist_ok=True)
    path = results / layout.SENTINEL
    with LocalRoot(results) as root:
        document = read_yaml(root, layout.SENTINEL)
    if document.state == "missing":
        write_text(path, yaml.safe_dump(_content(organisation), sort_keys=False))
        return True
    if not document.ok:
        raise OtherOwnerError(f"{path} cannot be used: {document.detail}")
    problems = content_problems(document.data)
    if problems:
        raise OtherOwnerError(f"{path} cannot be used: {'; '.join(problems)}")
    owner = document.data["orgname"]
    if owner != organisation:
        raise OtherOwnerError(f"{path}: the directory belongs to {clean(owner)}; choose another one for {organisation}")
    return False


def _content(organisation: str) -> dict[str, Any]:
    now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    return dict(zip(KEYS, (VERSION, organisation, now, f"mlpstorage {__version__}"), strict=True))


def content_problems(data: dict[str, Any]) -> list[str]:
    """What is wrong with the content of a ``mlperf-results.yaml``: its four keys, no other one."""
    problems = [f"the key {key} is missing" for key in KEYS if key not in data]
    problems += [f"the key {shorten(key)} is unknown" for key in data if key not in KEYS]
    version = data.get(KEYS[0], VERSION)
    if type(version) is not int:
        problems.append(f"{KEYS[0]} is {shorten(version)}, not a number")
    elif version != VERSION:
        problems.append(f"{KEYS[0]} is {version}; this tool writes {VERSION}")
    if "orgname" in data and not isinstance(data["orgname"], str):
        problems.append(f"orgname is {shorten(data['orgname'])}, not a text")
    return problems
