"""Text that is read as a number or as a moment, as patterns that mean the same to every regular-expression engine.

Numbers: what `pandas.to_numeric` takes. Moments: ``YYYY-MM-DD``, then perhaps a blank or ``T`` and ``HH:MM``,
``HH:MM:SS`` or ``HH:MM:SS.f`` with one to nine digits, then perhaps ``Z`` or an offset ``+HH``, ``+HHMM`` or
``+HH:MM`` of at most 14 hours; years 0001 to 9999, blanks around it allowed. Pandas guesses at other spellings of a
date too; exports take those for no moment.
"""

from __future__ import annotations

NUMBER = "[+-]?([0-9]+[.]?[0-9]*|[.][0-9]+)([eE][+-]?[0-9]+)?"
"""To be put between runs of white space: tab to carriage return, and blank."""
INFINITIES = (("inf", "+inf", "infinity", "+infinity"), ("-inf", "-infinity"))
"""Words for plus and minus infinity, in any case, without white space around them."""

_MONTHS = "((0[13578]|1[02])-(0[1-9]|[12][0-9]|3[01])|(0[469]|11)-(0[1-9]|[12][0-9]|30)|02-(0[1-9]|1[0-9]|2[0-8]))"
_LEAP_YEARS = "([0-9][0-9](0[48]|[2468][048]|[13579][26])|([02468][048]|[13579][26])00)"
DATE = f"([0-9][0-9][0-9][0-9]-{_MONTHS}|{_LEAP_YEARS}-02-29)"
_TIME = "([01][0-9]|2[0-3]):[0-5][0-9](:[0-5][0-9]([.][0-9]{1,9})?)?"
_ZONE = "(Z|[+-]((0[0-9]|1[0-3])(:?[0-5][0-9])?|14(:?00)?))"
MOMENT = f" *{DATE}([ T]{_TIME}{_ZONE}?)? *"
"""The year 0000, which this lets pass, is none."""


def spells_whole(level: str) -> bool:
    """Whether "level.0" is the same level; as in `soar_jax.data.columns.level_text`."""
    return level.lstrip("+-").isdigit()
