"""Names in messages stay few, short and printable."""

from hypothesis import given
from hypothesis import strategies as st

from soar_jax._names import LONGEST_NAME, MOST_NAMES, list_names, short_name, visible


@given(st.lists(st.text(max_size=300), max_size=60))
def test_a_list_of_any_names_is_short_and_printable(names):
    told = list_names(names)
    assert told.isprintable()
    # an escape such as \U0001f600 has ten characters
    assert len(told) <= MOST_NAMES * (10 * LONGEST_NAME + 2) + 30


@given(st.lists(st.from_regex(r"[a-z]{1,12}", fullmatch=True), max_size=30))
def test_ordinary_names_stand_as_they_are_and_none_is_forgotten(names):
    told = list_names(names)
    if len(names) <= MOST_NAMES:
        assert told == ", ".join(names)
    else:
        assert told.endswith(f" ... and {len(names) - MOST_NAMES} more")
        assert told.startswith(", ".join(names[:MOST_NAMES]))


@given(st.text())
def test_no_text_can_steer_a_terminal(text):
    assert visible(text).isprintable()
    assert visible(text) == text or not text.isprintable()


def test_long_names_are_cut_and_escapes_written_out():
    assert short_name("x" * 900_000) == "x" * (LONGEST_NAME - 3) + "..."
    assert short_name("a\x1b[2J\nb") == "a\\x1b[2J\\nb"
