"""The parser agrees with the compiler about what an expression reads, and its spans cut where they should."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

import rules
from rules.expressions import ExpressionError, parse
from rules.mutate import text_mutants


def expressions():
    for name in rules.edition_ids():
        for rule in rules.load_edition(name).rules:
            for clause in rule.clauses:
                for expression in (*(e for _, e in clause.let), clause.when, clause.require, clause.at):
                    if expression is not None:
                        yield expression
                yield from clause.message.expressions
                yield from clause.remedy.expressions


def fields(message):
    """Number and value of each field of a protobuf message."""
    at = 0

    def varint():
        nonlocal at
        value = shift = 0
        while True:
            byte = message[at]
            at += 1
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value

    while at < len(message):
        number, kind = divmod(varint(), 8)
        if kind == 0:
            yield number, varint()
        else:
            size = varint() if kind == 2 else {1: 8, 5: 4}[kind]
            yield number, message[at : at + size]
            at += size


def compiled_reads(expression):
    """The names that the compiler's own checked expression refers to."""
    if expression._program is None:  # nothing but a name
        return {expression.text}
    checked = dict(fields(expression._program.serialize()))[2]
    names = set()
    for number, entry in fields(checked):
        if number == 2:
            reference = dict(fields(dict(fields(entry))[2]))
            if 1 in reference and 3 not in reference:
                names.add(reference[1].decode())
    return names


def test_reads_are_those_of_the_compiler():
    checked = 0
    for expression in expressions():
        names = compiled_reads(expression)
        bound = {variable for node in expression.tree.walk() for variable in node.variables}
        assert {name for name in names if name.partition(".")[0] not in bound and not name.startswith("@")} == set(
            expression.reads
        ), expression.text
        checked += 1
    assert checked > 300


def test_every_span_of_the_book_is_an_expression_by_itself():
    for expression in expressions():
        for node in expression.tree.walk():
            piece = expression.text[node.start : node.end]
            assert parse(piece).kind == node.kind, piece


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("run.a && !run.b", {"run.a", "run.b"}),
        ("run.xs.all(x, x > run.n)", {"run.xs", "run.n"}),
        ("run.xs.exists(x, x.y == 1) || y", {"run.xs", "y"}),
        ("run.n in [1, 2] ? 'a' : run.t", {"run.n", "run.t"}),
        ("size(run.xs) == 2", {"run.xs"}),
        ("'run.n' == \"it's\"", set()),
    ],
)
def test_names(text, names):
    assert set(parse(text).names()) == names


@pytest.mark.parametrize(
    ("text", "column"),
    [("", 1), ("a &&", 5), ("a ||| b", 5), ("(a", 3), ("a b", 3), ("a # b", 3), ("a.", 2), ("f(a,,b)", 5)],
)
def test_what_is_no_expression_is_refused_with_its_column(text, column):
    with pytest.raises(ExpressionError) as caught:
        parse(text)
    assert caught.value.column == column


@given(st.text(alphabet="ab.&|!()[]<>=+-*/?:,'\" 019", max_size=40))
def test_any_text_parses_or_is_refused(text):
    try:
        node = parse(text)
    except ExpressionError:
        return
    assert 0 <= node.start <= node.end <= len(text)


def test_mutants_of_a_text():
    assert set(text_mutants("!a && n >= 2")) == {
        "!(!a && n >= 2)",
        "(!a || n >= 2)",
        "(!a)",
        "(n >= 2)",
        "a && n >= 2",
        "!!(a) && n >= 2",
        "!a && !(n >= 2)",
        "!a && (n > 2)",
        "!a && (n < 2)",
        "!a && (n <= 2)",
        "!a && !(n) >= 2",
        "!a && n >= (3)",
        "!a && n >= (1)",
    }


def test_numbers_and_lists_are_mutated():
    assert set(text_mutants("x == 2.0")) >= {"x == (3.0)", "x == (1.0)", "x == (4.0)"}
    assert set(text_mutants("x in ['a', 'b']")) >= {"x in ['b']", "x in ['a']"}
