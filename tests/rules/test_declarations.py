"""Clauses of a section share what CEL knows of names, and yet each may read its own names only."""

import pytest

from rules.compiler import CompileError, Declarations, Environment, Type, Variable


def test_a_name_that_is_shared_with_another_type_keeps_its_own():
    """The shared declarations were made before a record came that has the same name for another type."""
    shared = Declarations(lambda: [{"item.value": Variable(Type.INT)}])
    assert "item.value" in shared.types
    texts = Environment({"item.value": Variable(Type.STRING)}, shared)
    assert texts.compile("item.value == 'x'").type == Type.BOOL


def test_a_name_of_two_types_is_not_shared():
    kinds = [
        {"item.value": Variable(Type.INT)},
        {"item.value": Variable(Type.STRING), "run.model": Variable(Type.STRING)},
    ]
    assert set(Declarations(lambda: kinds).types) == {"run.model"}


@pytest.mark.parametrize(
    ("text", "column"),
    [("leaves.stamped == 1", 1), ("size(leaves.stamped) > 0", 6), ("run.model == 'x' && leaves.stamped.x == 1", 21)],
)
def test_a_name_of_another_clause_is_not_declared_whatever_is_done_with_it(text, column):
    mine = {"run.model": Variable(Type.STRING)}
    others = {"leaves.stamped": Variable(Type.List(Type.BOOL))}
    environment = Environment(mine, Declarations(lambda: [mine, others]))
    with pytest.raises(CompileError, match=r"undeclared reference to 'leaves\.stamped") as error:
        environment.compile(text)
    assert error.value.column == column
