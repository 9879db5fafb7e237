"""Reports made by hand for the tests of the formats: every kind of finding, and names that try to get out of them."""

from __future__ import annotations

import io
from collections import Counter

from rules import Evidence, Finding, Outcome, Severity
from submission_checker.formats import FORMATS, Style
from submission_checker.report import CheckReport, Fault, Place, Waived

HOSTILE = (
    "<script>document.title='owned'</script>",
    '"><img src=x onerror="document.title=\'owned\'">',
    "</style></textarea></title><svg onload=document.title='owned'>",
    "{{ 7 * 7 }}{% raw %}",
    "=HYPERLINK(A1)",
    "@everyone",
    "::error::injected",
    "%0A::warning::injected",
    "##[add-mask]e",
    "a ##[stop-commands]abcdefgh",
    "\n::notice::injected",
    "\x1b[2J\x9b31m",
    "\u202egnp.exe\u2028",
    "\ud800",
    "\x00",
    "]]><failure/>",
    "`code` | cell | [link](javascript:alert(1)) <https://evil.example> www.evil.example # *b* _i_",
    "\r\nrow,\"quoted\"",
)  # fmt: skip
"""Texts that do harm in some format where they are not escaped."""

WORKLOAD = "closed/acme/results/fast-1/checkpointing/llama3-8b"


def finding(number: int = 0, **changes: object) -> Finding:
    """A violation of 4.3.5 at the workload of acme."""
    values: dict[str, object] = {
        "rule": "4.3.5",
        "name": "checkpointSubsetRunValidation",
        "clause": "count",
        "severity": Severity.ERROR,
        "outcome": "violation",
        "division": "closed",
        "path": WORKLOAD,
        "paths": (f"{WORKLOAD}/20260701_100000",),
        "message": "a subset run on 16 processes",
        "remedy": "Run with --num-processes 8.",
        "evidence": (
            Evidence(
                fact="run.num_processes", value=16, source=f"{WORKLOAD}/20260701_100000/metadata.json#/args/processes"
            ),
        ),
        "fingerprint": f"{number:016x}",
    }
    return Finding(**(values | changes))  # type: ignore[arg-type]


def report_of(*findings: Finding, **changes: object) -> CheckReport:
    """A report with these findings and the states that go with them."""
    report = CheckReport("3.0", "tree", submitters=2, systems=2, leaves=3)
    report.findings = list(findings)
    place = Place("closed", "acme", "fast-1", "checkpointing/llama3-8b")
    other = Place("closed", "globex", "slow-1", "checkpointing/llama3-8b")
    passes, violated, idle = Outcome.PASS, Outcome.VIOLATION, Outcome.NOT_APPLICABLE
    report.states = {
        place: {"4.3.5": violated, "4.3.2": passes, "4.6.4": idle},
        other: {"4.3.5": passes, "4.3.2": passes, "4.6.4": idle},
    }
    for states in report.states.values():
        for rule, outcome in states.items():
            report.tally.setdefault(rule, Counter())[outcome.value] += 1
    for name, value in changes.items():
        setattr(report, name, value)
    report.sort()
    return report


def mixed() -> CheckReport:
    """An error, a warning, an info, something undecided, something waived, a remark, an unlisted directory."""
    waived = finding(5, rule="4.3.2", name="checkpointFsyncVerification", message="fsync is off", remedy="")
    return report_of(
        finding(1),
        finding(2, rule="4.6.2", severity=Severity.WARNING, message="exactly 4 ranks a host"),
        finding(3, rule="4.7.2", severity=Severity.INFO, outcome="note", message="total duration 505.0 s", remedy=""),
        finding(
            4,
            rule="READ-01",
            outcome="undetermined",
            message="summary.json is missing",
            path=f"{WORKLOAD}/20260701_100000/summary.json",
            opens=("4.3.4", "4.7.1"),
            evidence=(),
        ),
        waived,
        waived={(waived.fingerprint, waived.path): Waived("a known defect of the tool", "2027-03-31")},
        remarks=["open/acme/notes: passed over"],
        unreadable=["open/acme/results/locked"],
    )


def hostile() -> CheckReport:
    """Every hostile text in every place where a tree can put one."""
    findings = []
    for number, text in enumerate(HOSTILE):
        path = f"closed/{text.replace('/', '')}/results/fast-1/checkpointing/llama3-8b"
        findings.append(
            finding(
                number,
                path=path,
                paths=(f"{path}/20260701_100000",),
                item=text,
                message=text,
                remedy=text,
                evidence=(
                    Evidence(fact="run.model", value=text, source=f"{path}/{text}.json#/args/model"),
                    Evidence(fact="runs.models", value=[text, text], source=text),
                ),
            )
        )
    texts = [text for text in HOSTILE if text.strip()]
    return report_of(
        *findings, remarks=texts, unreadable=texts, faults=[Fault(texts[0], texts[0])], results_dir=texts[0]
    )


def written(report: CheckReport, format_: str, *, verbose: bool = False) -> str:
    """What a format makes of a report."""
    out = io.StringIO()
    FORMATS[format_](report, out, Style(verbose=verbose))
    return out.getvalue()
