"""Values of columns as expressions of Ibis that compare as the library does in memory."""

from __future__ import annotations

import math
from datetime import UTC, timedelta
from typing import Any

from soar_jax._base import InputError, Plain
from soar_jax.data.columns import CATEGORY, DATETIME, NUMBER
from soar_jax.data.moments import EPOCH
from soar_jax.export.dialects.base import checked

_LONG = 1 << 63
_MICROSECONDS = 6
"""Digits of a second that moments are read with."""
_READABLE = "text, numbers, booleans, dates and timestamps"


def number_literal(value: float) -> Any:
    """Write a float64 that the engine reads back to the bit: by its text, for decimals may be rounded twice."""
    import ibis

    text = repr(float(value)) if math.isfinite(value) else ("Infinity" if value > 0 else "-Infinity")
    return ibis.literal(text).cast("float64")


def text_literal(value: str) -> Any:
    """Write a text; Spark would replace ``${name}`` in a query, so that it is put together there."""
    import ibis

    parts = checked(value).split("${")
    text = ibis.literal(parts[0])
    for part in parts[1:]:
        text = text + ibis.literal("$") + ibis.literal("{" + part)
    return text


def moment_literal(microseconds: float, dtype: Any) -> Any:
    """Write a moment in the type of the column that it is compared with."""
    import ibis

    moment = EPOCH + timedelta(microseconds=int(microseconds))
    if dtype.is_timestamp() and dtype.timezone is not None:
        return ibis.literal(moment.astimezone(UTC), type=dtype)
    return ibis.literal(moment.replace(tzinfo=None), type="timestamp(6)")


def kind_of_type(name: str, dtype: Any) -> str:
    """How a column of a type is read; numbers of two values are categories all the same."""
    if dtype.is_boolean() or dtype.is_string():
        return CATEGORY
    if dtype.is_numeric():
        return NUMBER
    if dtype.is_date() or dtype.is_timestamp():
        return DATETIME
    raise InputError(
        f"Column {name!r} has type {str(dtype).split('<')[0]}, which cannot be learnt from; use {_READABLE}: "
        "cast the column, or leave it out."
    )


def as_number(column: Any) -> Any:
    """Read a column of numbers as float64; NULL where it is missing or NaN."""
    number = column.cast("float64")
    if not column.type().is_floating():
        return number
    import ibis

    return ibis.ifelse(number.isnan(), ibis.null("float64"), number)


def as_moment(column: Any) -> Any:
    """Read a column of dates or timestamps so that moments compare with it."""
    return column.cast("timestamp(6)") if column.type().is_date() else column


def with_whole_microseconds(column: Any) -> Any:
    """Cut the nanoseconds of DuckDB's moments down to whole microseconds, as in memory; its own casts round them."""
    import ibis

    dtype = column.type()
    if not dtype.is_timestamp() or (dtype.scale or 0) <= _MICROSECONDS or column.get_backend().name != "duckdb":
        return column

    def epoch_ns(moment: Any) -> Any:
        """Stand for DuckDB's function of that name."""

    def make_timestamp(microseconds: Any) -> Any:
        """Stand for DuckDB's function of that name."""

    count = ibis.udf.scalar.builtin(epoch_ns, signature=((dtype,), "int64"))(column)
    below = ((count % 1000) + 1000) % 1000
    return ibis.udf.scalar.builtin(make_timestamp, signature=(("int64",), "timestamp(6)"))((count - below) // 1000)


def is_missing(column: Any) -> Any:
    """Say which values are missing: NULL and NaN."""
    if not column.type().is_floating():
        return column.isnull()
    return column.isnull() | column.isnan()


def equals(column: Any, values: list[Any]) -> Any:
    """Say which values of a column are among some that were fetched from it."""
    import ibis

    found: Any = ibis.literal(False)
    plain: list[Plain] = []
    for value in values:
        if isinstance(value, str):
            checked(value, f"A value of column {column.get_name()!r}")
        if isinstance(value, float):
            found = found | (column.cast("float64") == number_literal(value))
        elif isinstance(value, str) and "${" in value:
            found = found | (column == text_literal(value))
        elif isinstance(value, str):
            plain.append(value)
        elif isinstance(value, bool | int) and -_LONG <= value < _LONG:
            plain.append(value)
        else:
            found = found | (column == ibis.literal(value, type=column.type()))
    return (found | column.isin(plain)) if plain else found


def as_microseconds(column: Any) -> Any:
    """Read a column of dates or timestamps as microseconds since 1970 in float64; NULL where it is missing."""
    moment = as_moment(column)
    seconds = moment.truncate("s").epoch_seconds()  # a whole number, however the engine rounds
    con = column.get_backend()
    if con.name in ("pyspark", "databricks"):
        _check_utc(con, column)
        rest = _fraction_of_spark(moment, "SSSSSS")  # Ibis cannot ask Spark for microseconds
    else:
        rest = moment.microsecond()
    return (seconds.cast("int64") * 1_000_000 + rest.cast("int64")).cast("float64")


def _fraction_of_spark(moment: Any, form: str) -> Any:
    import ibis

    def date_format(moment: Any, form: Any) -> Any:
        """Stand for Spark's function of that name."""

    types = ((moment.type(), "string"), "string")
    return ibis.udf.scalar.builtin(date_format, name="date_format", signature=types)(moment, form)


def _check_utc(con: Any, column: Any) -> None:
    """Refuse a time zone in which Spark would shift timestamps."""
    zone = con._session.conf.get("spark.sql.session.timeZone")
    if zone not in ("UTC", "Etc/UTC", "GMT", "Z"):
        raise InputError(
            f"Column {column.get_name()!r} has very many moments, which Spark counts in the session's time zone "
            f"{zone}; set spark.sql.session.timeZone to UTC."
        )
