"""Judges facts, and keeps what the parts of a check gave."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

import rules
from mlpstorage.results.roots.address import UnusableRootError
from mlpstorage.results.text import clean
from rules import Finding, Severity
from rules.evaluate import NOT_GIVEN, SUBMISSION
from rules.facts import FactModel
from rules.facts.base import Absence, Reason
from rules.outcomes import Tally, add_tally

from .listing import Obstacle
from .readers.code_evidence import Captured, LeafCode
from .readers.families import DEEP_FAMILIES, FAMILIES, Family
from .report import (
    Fault,
    OpenRules,
    Resting,
    States,
    note_outcomes,
    place_of,
)


@dataclass(frozen=True, slots=True)
class Options:
    """What to check and by which rules. ``debug``: faults carry their traceback."""

    edition: str = field(default_factory=lambda: rules.DEFAULT_EDITION)
    submitters: tuple[str, ...] = ()
    debug: bool = False
    source_repo: str = ""
    """A clone of the tool's repository to compare code images with; empty: none."""
    deep: bool = False
    """Whether to recompute what takes the files of every rank."""
    keep_undecided: bool = False
    """Whether to keep every clause that could not be decided: what a comparison with an earlier report asks for."""
    judge: Callable[[Part, Sequence[FactModel], str], None] | None = None
    """What to do with the facts of subjects that belong together, and their division, in place of judging them."""

    @property
    def families(self) -> Mapping[str, Family]:
        """How the results of each family are read."""
        return DEEP_FAMILIES if self.deep else FAMILIES


@dataclass(slots=True)
class Part:
    """What the check of one system (or lone directory) gave. Small, for it travels between processes."""

    findings: list[Finding] = field(default_factory=list)
    tally: Tally = field(default_factory=dict)
    remarks: list[str] = field(default_factory=list)
    faults: list[Fault] = field(default_factory=list)
    runs: int = 0
    states: States = field(default_factory=dict)
    open_rules: OpenRules = field(default_factory=dict)
    resting: Resting = field(default_factory=dict)
    """Whose results an error in a pool of code images concerns."""
    unjudged: list[str] = field(default_factory=list)
    """Directories of results that no rules are there for yet."""
    unlisted: tuple[Obstacle, ...] = ()
    """Directories inside leaves that could not be listed when these were read."""
    unseen: list[str] = field(default_factory=list)
    """Workload directories that were not judged, for something in them could not be listed."""
    undecided: set[tuple[str, str, str]] = field(default_factory=set)
    """Rule, clause and subject's path of what could not be decided, where these are kept."""
    leaves: dict[str, LeafCode] = field(default_factory=dict)
    """What the leaves say of their code, by path; for the rules on the tree and on submissions."""
    images: dict[str, Captured] = field(default_factory=dict)
    """Code images that were hashed, by path."""


def judge(
    part: Part, subjects: Iterable[FactModel], division: str, options: Options, told: Collection[str] = ()
) -> None:
    """Judge subjects that may explain each other's open questions; ``told`` are causes that another finding names."""
    if options.judge is not None:
        options.judge(part, tuple(subjects), division)
        return
    evaluations = []
    for facts in subjects:
        whole = rules.load_edition(options.edition).evaluate(facts, division=division, stage=SUBMISSION)
        if options.keep_undecided:
            part.undecided.update((q.rule, q.clause, q.path) for q in whole.open_questions)
        evaluation = _asked(whole)
        new = tuple(question for question in evaluation.open_questions if question.absence.cause not in told)
        evaluations.append(replace(evaluation, open_questions=new))
        note_outcomes(part.states, evaluation.outcomes)
        for question in evaluation.open_questions:
            if question.severity is Severity.ERROR and not _expected(question.absence):
                part.open_rules.setdefault(place_of(question.path), set()).add(question.rule)
        part.faults.extend(Fault(facts.path, clean(fault, 500)) for fault in evaluation.faults)
    concluded = rules.conclude(evaluations)
    part.findings.extend(concluded.findings)
    add_tally(part.tally, concluded.tally)


def _expected(absence: Absence) -> bool:
    """Whether a value lacks in a sound submission, too.

    A round prunes logs and the files of ranks, and an old tool could not record everything. What a run was is stated
    by its metadata and its summary: a placeholder in their place is no pruning but the end of every judgement.
    """
    if absence.reason is Reason.PLACEHOLDER:
        name = absence.path.rpartition("/")[2]
        return not (name == "summary.json" or name.endswith("metadata.json"))
    return absence.reason in (Reason.NOT_RECORDED, Reason.NOT_APPLICABLE)


def evaluate(edition: rules.Edition, facts: FactModel, division: str) -> rules.Evaluation:
    """Judge a subject, as a check does."""
    return _asked(edition.evaluate(facts, division=division, stage=SUBMISSION))


def _asked(evaluation: rules.Evaluation) -> rules.Evaluation:
    """What lies above a lone directory was not asked for and is no open question; a remark says so."""
    asked = tuple(question for question in evaluation.open_questions if question.absence.cause != NOT_GIVEN)
    return replace(evaluation, open_questions=asked)


@contextmanager
def faults_kept(part: Part, path: str, options: Options) -> Iterator[None]:
    """Turns a defect met while one part is checked into that part's fault: the other parts are still checked."""
    try:
        yield
    except UnusableRootError:
        raise
    except Exception as error:
        message = f"{type(error).__name__}: {clean(str(error), 500)}"
        if options.debug:
            message += "\n" + "".join(traceback.format_exception(error))
        part.faults.append(Fault(path, message))
