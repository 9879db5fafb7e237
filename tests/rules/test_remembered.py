"""What is remembered of texts is bounded in number and in size, and never changes a result."""

from rules.remembered import remembered


def counted(most=2):
    calls = []

    @remembered(most)
    def joined(one, other):
        calls.append((one, other))
        return one + other

    return joined, calls


def test_a_short_text_is_worked_on_once():
    joined, calls = counted()
    assert [joined("a", "b"), joined("a", "b")] == ["ab", "ab"]
    assert len(calls) == 1


def test_long_texts_are_not_kept():
    joined, calls = counted()
    assert joined("x" * 200, "y" * 200) == joined("x" * 200, "y" * 200)
    assert len(calls) == 2


def test_no_more_than_so_many_are_kept():
    joined, calls = counted(most=1)
    for one in ("a", "b", "a"):
        joined(one, "")
    assert len(calls) == 3
