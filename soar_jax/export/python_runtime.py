"""How exported Python source reads cells; the text of this file, from its first import on, is part of every export.

It needs nothing but the standard library, and must read every value as `soar_jax.data.columns` does.
"""

from __future__ import annotations

import math
import re
from datetime import date, datetime
from typing import Any

_NUMBER = re.compile(r"[+-]?(([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?|[iI][nN][fF]([iI][nN][iI][tT][yY])?)")
_MOMENT = re.compile(
    r" *([0-9]{4})-([0-9]{2})-([0-9]{2})"
    r"([ T]([01][0-9]|2[0-3]):([0-5][0-9])(:([0-5][0-9])(\.([0-9]{1,9}))?)?"
    r"(Z|([+-])([0-9]{2})(:?([0-5][0-9]))?)?)? *"
)
_LONGEST_DATE = 10
_DAY, _HOUR, _MINUTE, _SECOND = 86400000000, 3600000000, 60000000, 1000000
_FARTHEST = 14 * 60
_NO_VALUES = ("NAType", "NaTType")
_TRUTH = {"true": "1", "false": "0"}


def is_missing(value: Any) -> bool:
    """Say whether a cell is missing: None, NaN, NaT or NA."""
    if value is None or type(value).__name__ in _NO_VALUES:
        return True
    try:
        return bool(value != value)  # noqa: PLR0124
    except (TypeError, ValueError, ArithmeticError):
        return False


def level_of(value: Any, column: Any) -> str:
    """Name a level so that spellings of one value agree: 2, 2.0, "2" and "2.0"; True, 1 and "True"."""
    if column["kind"] == "category" and column["read_as"] in ("text", "number", "boolean"):
        _refuse(isinstance(value, date) or type(value).__name__ == "datetime64", column, "dates", column["read_as"])
    if isinstance(value, str) and column["kind"] == "category" and column["read_as"] == "number":
        number = _number_of_text(value)
        value = value if number is None else number
    value = _plain(value, single=True)
    if type(value).__name__ == "Decimal":
        value = float(value)
    if not isinstance(value, (str, int, float)):
        value = str(value)
    if isinstance(value, bool) or (isinstance(value, float) and value.is_integer()):
        return str(int(value))
    if isinstance(value, str):
        if value.lower() in _TRUTH:
            return _TRUTH[value.lower()]
        whole, _, fraction = value.partition(".")
        if fraction and not fraction.strip("0") and whole.lstrip("+-").isdigit():
            return whole
    return str(value)


def number_of(value: Any, column: Any) -> float | None:
    """Read a number, or text that spells one; None for anything else."""
    value = _plain(value)
    if column["kind"] == "number":
        _refuse(isinstance(value, date), column, "dates", "numbers")
        _refuse(isinstance(value, bool) and not column["may_be_truth_values"], column, "truth values", "numbers")
    if isinstance(value, str):
        return _number_of_text(value)
    if isinstance(value, (int, float)) or type(value).__name__ == "Decimal":
        try:
            number = float(value)
        except OverflowError:
            return math.inf if value > 0 else -math.inf
        return None if math.isnan(number) else number
    return None


def _number_of_text(text: str) -> float | None:
    text = text.strip()
    return float(text) if _NUMBER.fullmatch(text) else None


def moment_of(value: Any, column: Any) -> float | None:
    """Read a date, a datetime or text of the column's format as microseconds since 1970 UTC; numbers are no moments."""
    value = _plain(value)
    is_declared, form, zone = column["kind"] == "datetime", column["form"], column["zone"]
    if is_declared:
        _refuse(isinstance(value, (int, float)), column, "numbers", "dates")
    if isinstance(value, str):
        text = value.strip(" ")
        is_zoned = len(text) > _LONGEST_DATE and (text[-1] == "Z" or "+" in text or "-" in text[_LONGEST_DATE:])
        if form is not None:
            try:
                value = datetime.strptime(text, form)
            except ValueError:
                return None
        elif zone is not None and is_zoned != (zone == "utc"):
            return None
    if isinstance(value, date) and zone is not None:
        is_zoned = isinstance(value, datetime) and value.utcoffset() is not None
        given, fitted = ("a zone", "none") if is_zoned else ("no zone", "one")
        _refuse(is_zoned != (zone == "utc"), column, "times with " + given, "times with " + fitted)
    if isinstance(value, datetime):
        offset = value.utcoffset()
        shift = 0 if offset is None else (offset.days * 86400 + offset.seconds) * _SECOND + offset.microseconds
        return float(_microseconds(value) - shift)
    if isinstance(value, date):
        return float((value.toordinal() - 719163) * _DAY)
    return _moment_of_text(value) if isinstance(value, str) else None


def _microseconds(moment: datetime) -> int:
    time = moment.hour * _HOUR + moment.minute * _MINUTE + moment.second * _SECOND + moment.microsecond
    return (moment.toordinal() - 719163) * _DAY + time


def _moment_of_text(text: str) -> float | None:
    found = _MOMENT.fullmatch(text)
    if not found:
        return None
    year, month, day, hour, minute, second = (int(found.group(i) or 0) for i in (1, 2, 3, 5, 6, 8))
    try:
        moment = datetime(year, month, day, hour, minute, second)
    except ValueError:
        return None
    fraction = int(((found.group(10) or "") + "000000")[:6])
    minutes = int(found.group(13) or 0) * 60 + int(found.group(15) or 0)
    if minutes > _FARTHEST:
        return None
    sign = -1 if found.group(12) == "-" else 1
    return float(_microseconds(moment) + fraction - sign * minutes * _MINUTE)


def _plain(value: Any, single: bool = False) -> Any:
    """Turn a NumPy scalar into a Python value; as a level, 0.1 in single precision is 0.1."""
    if type(value).__module__ != "numpy" or isinstance(value, (str, bytes, float)):
        return value
    name = type(value).__name__
    if name == "datetime64":
        return value.astype("datetime64[us]").item()
    if name.startswith("float"):
        return float(str(value)) if single else float(value)
    return value.item() if hasattr(value, "item") else value


_READERS = {"level": level_of, "number": number_of, "moment": moment_of}
_READINGS = {"category": "level", "number": "number", "datetime": "moment", "unknown": "missing"}


def _refuse(is_wrong: bool, column: Any, given: str, fitted: str) -> None:
    """Raise where a cell cannot mean what the cells of the fit did."""
    if is_wrong:
        raise ValueError(f"Column {column['name']!r} holds {given}, but the model was fitted on {fitted} there.")


def read_cell(cell: Any, reading: str, column: Any) -> Any:
    """Read a cell as the fit read its column; None where it is missing or cannot be read."""
    if is_missing(cell) or (isinstance(cell, str) and cell in column["words"]):
        return None
    found = _READERS[reading](cell, column) if reading in _READERS else cell
    if found is None and column["strict"]:
        raise ValueError(f"A value of column {column['name']!r} cannot be read, and strict reading was asked for.")
    return found


def fires(conditions: Any, columns: Any, row: Any, read: Any) -> bool:
    """Say whether every condition holds; a missing value satisfies none but "is missing". ``read`` keeps readings."""
    for column, reading, operator, value in conditions:
        if column not in row:
            raise KeyError(f"The rules use column {column!r}, which the row does not have.")
        how = _READINGS[columns[column]["kind"]] if reading == "missing" else reading
        if (column, how) not in read:
            read[column, how] = read_cell(row[column], how, columns[column])
        cell = read[column, how]
        if reading == "missing":
            holds = cell is None
        else:
            if cell is None:
                return False
            if operator == "==":
                holds = cell == value
            elif operator == "!=":
                holds = cell != value
            elif operator == "in":
                holds = cell in value
            else:
                holds = cell <= value if operator == "<=" else cell > value
        if not holds:
            return False
    return True
