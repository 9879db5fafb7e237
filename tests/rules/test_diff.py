"""What differs between editions, and how an edition shows that it was changed."""

import rules
from rules.compiled import CompiledRule
from rules.diff import diff_editions
from rules.edition import Edition


def changed(edition: str, rule: CompiledRule) -> Edition:
    """The edition with this rule in place of its own."""
    made = Edition(edition, rules.load_edition(edition).sections)
    made._rules[rule.id] = rule
    return made


def test_the_same_rules_have_the_same_digest() -> None:
    edition = rules.load_edition("3.0")
    assert Edition("3.0", edition.sections).digest == edition.digest
    assert len({rules.load_edition(name).digest for name in rules.edition_ids()}) == len(rules.edition_ids())


def test_any_change_of_a_rule_changes_the_digest() -> None:
    edition, other = rules.load_edition("3.0"), rules.load_edition("3.0-as-published")
    assert changed("3.0", other.rule("4.3.5")).digest != edition.digest
    assert changed("3.0", edition.rule("4.3.5")).digest == edition.digest
    limits = Edition("3.0", edition.sections)
    limits.cells = {**edition.cells, "limit": {"": {**edition.cells["limit"][""], "subset_processes": 9}}}
    assert limits.digest != edition.digest


def test_an_edition_does_not_differ_from_itself() -> None:
    edition = rules.load_edition("3.0")
    difference = diff_editions(edition, edition)
    assert (difference.entries, difference.cells) == ((), ())


def test_a_rule_that_one_edition_lacks_and_a_clause_that_it_adds_are_named() -> None:
    difference = diff_editions(rules.load_edition("3.0"), rules.load_edition("4.0-draft"))
    stated = [change for change in difference.entries if (change.rule, change.clause) == ("4.3.4", "stated")]
    assert [(change.what, change.old, change.new) for change in stated] == [("clause", "", "present run.accelerator")]
