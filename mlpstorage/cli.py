"""The command ``mlpstorage``: finds the subcommand, and imports no more than that one needs."""

from __future__ import annotations

import gc
import io
import sys
from datetime import datetime

from . import output

DIVISIONS = ("closed", "open", "whatif")
MODAL = (("checkpointing", "run"), ("training", "datasize"))
"""Commands that may be written behind their division."""
GROUPS = ("init", "rules", "systems")
"""The other commands."""
USAGE = """\
usage: mlpstorage checkpointing run {closed,open,whatif} --model MODEL [options]
       mlpstorage {closed,open,whatif} checkpointing run --model MODEL [options]
       mlpstorage training datasize {closed,open,whatif} --model MODEL [options]
       mlpstorage init ORG RESULTS_DIR
       mlpstorage rules {list,show,matrix,render,check,diff} [options]
       mlpstorage systems {check,template,schema} [options]
       mlpstorage --version

checkpointing run   judge a checkpointing run by the rules, then run it
training datasize   compute and explain the smallest dataset for training runs
init                make a results directory an organisation's own
rules               look at the rule book, check it, render it
systems             check a system description, write one to start from, print the format

Every command has --help."""


CANNOT = 2
"""Exit code where the answer cannot be written."""
RULE_BOOK_BROKEN = 3
"""Exit code where the rule data has an error; nothing was judged."""
INTERRUPTED = 130
CLOSED_PIPE = 128 + 13
"""What a shell shows of a program that the signal of a closed pipe ended."""


def main(arguments: list[str] | None = None) -> int:
    """Entry point. Returns the exit code; see ``mlpstorage checkpointing run --help`` for its meaning."""
    started = datetime.now()  # first of all: an invocation's time counts from here (rules 2.1.24, 4.7.1)
    if sys.stdout is None:
        output.last_words("mlpstorage: there is no standard output to answer on")
        return CANNOT
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # a path may hold what a terminal cannot show
    try:
        try:
            return _main(arguments, started)
        finally:
            sys.stdout.flush()  # a failure is told here, not by the interpreter when it ends
    except KeyboardInterrupt:
        output.last_words("mlpstorage: interrupted")
        return INTERRUPTED
    except OSError as error:
        if not output.failed(error):
            output.last_words(f"mlpstorage: {error}")
            return CANNOT
        output.abandon()
        if isinstance(error, BrokenPipeError):
            return CLOSED_PIPE  # nobody reads on
        output.last_words(f"mlpstorage: the standard output cannot be written: {error}")
        return CANNOT


def _main(arguments: list[str] | None, started: datetime) -> int:
    words = modal_order(sys.argv[1:] if arguments is None else arguments)
    try:
        return _command(words, started)
    except Exception as error:
        from rules.errors import RuleBookError

        if not isinstance(error, RuleBookError):
            raise
        output.last_words(f"mlpstorage: the rule book does not load: {error}")
        return RULE_BOOK_BROKEN
    finally:
        if arguments is None:  # the process is the command's own, and ends
            gc.freeze()  # or the interpreter looks for cycles in all that exists before it does


def _command(words: list[str], started: datetime) -> int:
    """Import and run the one command that the words ask for."""
    if words[:2] == ["checkpointing", "run"]:
        return _checkpointing_run(words[2:], started)
    if words[:2] == ["training", "datasize"]:
        import os

        from .training.datasize import main as datasize

        return datasize(words[2:], os.environ)
    if words[:1] == ["init"]:
        from .init_cmd import main as init

        return init(words[1:])
    if words[:1] == ["rules"]:
        from .rules_cmd import app

        with output.reader_may_leave():  # Typer would end with 1, which means a violation
            app(words[1:], prog_name="mlpstorage rules")
        return 0
    if words[:1] == ["systems"]:
        from .systems.command import app as systems

        with output.reader_may_leave():
            systems(words[1:], prog_name="mlpstorage systems")
        return 0
    if words == ["--version"]:
        from . import __version__

        print(f"mlpstorage {__version__}")
        return 0
    if {"-h", "--help"} & set(words[:2]):
        print(USAGE)
        return 0
    output.last_words(f"mlpstorage: {_problem(words)}\n{USAGE}")
    return 2


def _checkpointing_run(words: list[str], started: datetime) -> int:
    """What is imported and loaded to judge a run is no garbage: looking for some would take a twelfth of a dry run.

    The run itself, if it comes to that, collects again.
    """
    import os

    from . import interrupts

    gc.disable()
    try:
        with interrupts.interruptible():
            from .checkpointing.run import main as run

            return run(words, os.environ, started)
    finally:
        gc.enable()


def _problem(words: list[str]) -> str:
    """What is wrong with words that name no command."""
    if not words:
        return "a command is needed"
    named = words[1:] if words[0] in DIVISIONS else words
    for group, subcommand in MODAL:
        if named[:1] == [group] and (len(named) == 1 or named[1].startswith("-") or named[1] in DIVISIONS):
            return f"{group} needs {subcommand!r}: mlpstorage {group} {subcommand} ..."
    from .checkpointing.exits import meant

    close = meant([" ".join(named[:2])], map(" ".join, MODAL)) or meant(named[:1], GROUPS)
    return f"unknown command {' '.join(words[:2])!r}{close}"


def modal_order(words: list[str]) -> list[str]:
    """``closed checkpointing run ...`` as ``checkpointing run closed ...``; anything else as it is."""
    if len(words) >= 3 and words[0] in DIVISIONS and tuple(words[1:3]) in MODAL:
        return [*words[1:3], words[0], *words[3:]]
    return words
