"""Values that databases, text and dates make hard, and hostile names for the columns that hold them."""

import datetime as dt
import math

import numpy as np

HOSTILE = (
    "plain",
    "quote \" and ' and `",
    "semi; DROP TABLE canary; --",
    "'); DROP TABLE canary; --",
    '"; DROP TABLE canary; --',
    "`; DROP TABLE canary; --",
    "comment /* -- */ # end",
    "back\\slash \\' \\n",
    "line\nbreak\r\n\ttab",
    "Straße 名前 🐍 \u202e\u2028 é",
    "x" * 200,
    "SELECT",
    "value_1",
    "%s :name ? {0} $1",
    " ",
)
TEXTS = (
    "a", "b", "A", " a", "a ", "", "é", "é", "名前", "it's", 'say "x"', "back\\slash", "a\nb",
    "; DROP TABLE canary; --", "${env:HOME}", "%s", "true", "True", "FALSE", "0", "1", "1.0", "+1.0", "-0.0", "2.",
    "2.0", "2.00", "2", "02", "2.0.0", "²", "².0", "nan", "None", "other", "other_", "inf", "null",
)  # fmt: skip
NUMBER_TEXTS = (
    "12", " 12 ", "\t12\n", "\v12\f", "12.0", "1e3", "1E+3", "1e", "0x10", "inf", "-Inf", "+infinity", " inf", "nan",
    "NaN", "", " ", "1_000", "1,000", "5.", ".5", ".", "-.5", "+5", "--5", "007", "1e400", "-1e400", "1e-400",
    "-1e-400", "1e308", "1e-320", "1e0000005", "1e99999999999", "-1e99999999999", "1e-99999999999", "0e99999",
    "0.0e99999", "true", "9007199254740993", "123456789012345678901234567890", "0.1", "0.30", "0.3", "3e-1", "1d",
    "1f", "٣", "12abc", "1 e5", "1.e2", "+.5e-1", "2.5", "\u00a012", "12\u2028", "x",
)  # fmt: skip
DATE_TEXTS = (
    "2021-03-01", " 2021-03-01 ", "2021-03-01 10:00", "2021-03-01T10:00:00", "2021-03-01 10:00:00.5",
    "2021-03-01T10:00:00.123456", "2021-03-01T10:00:00Z", "2021-03-01T10:00:00+02:00", "2021-03-01 10:00:00-0530",
    "2021-03-01 10:00+14", "2021-02-29", "2020-02-29", "1900-02-29", "2000-02-29", "2021-04-31", "2021-13-01",
    "2021-03-01 24:00:00", "2021-03-01 10:60", "1969-12-31T23:59:59.999999", "1600-01-01", "0001-01-01",
    "9999-12-31 23:59:59", "2021-02-28T23:30:00-01:00", "", "x", "nan",
)  # fmt: skip
INTEGERS = (0, 1, -1, 2, 12, 1000, 2**53, 2**53 + 1, -(2**53) - 1, 2**62 + 1, -(2**63), 2**63 - 1)
DOUBLES = (
    0.0, -0.0, 1.0, 2.0, 2.5, 0.1, 0.3, 0.1 + 0.2, -1.5, 1e300, 1e16, 1e-300, 5e-324, math.inf, -math.inf, math.nan,
    12.0, 1e22,
)  # fmt: skip
SINGLES = tuple(float(np.float32(x)) for x in (0.1, 2.5, 2.0, 1e10, -0.3, math.inf, math.nan, 1e-40, 16777216.0))
DATES = tuple(
    dt.date.fromisoformat(x)
    for x in ("2021-03-01", "2021-02-28", "1969-12-31", "1600-01-01", "9999-12-31", "0001-01-01")
)
_MOMENTS = (
    "2021-03-01", "2021-03-01T10:00:00", "2021-03-01T10:00:00.500000", "1969-12-31T23:59:59.999999",
    "1600-01-01T00:00:00.000001", "2300-01-01T00:00:00.000001", "2021-03-28T01:30:00", "2021-11-07T05:30:00",
    "2021-11-07T06:30:00",
)  # fmt: skip
MOMENTS = tuple(dt.datetime.fromisoformat(x) for x in _MOMENTS)
VALUES = {
    "words": TEXTS,
    "numbers as text": (*TEXTS, *NUMBER_TEXTS),
    "dates as text": (*DATE_TEXTS, "a", "é", "True"),
    "integer": INTEGERS,
    "double": DOUBLES,
    "real": SINGLES,
    "boolean": (True, False),
    "date": DATES,
    "timestamp": MOMENTS,
}
KINDS = (
    "words", "numbers as text", "dates as text", "integer", "double", "real", "boolean", "date", "timestamp",
    "words", "integer", "double", "numbers as text", "dates as text", "timestamp",
)  # fmt: skip
COLUMNS = dict(zip(HOSTILE, KINDS, strict=True))
"""Kind of every column: how the table stores it, and for text what it spells."""
LABELS = (("no", "yes"), (0, 1), (-1.5, 2.25), (False, True), ("it's; DROP TABLE canary; --", "\\'名 \"${x}\n"))
LEVELS = (
    *TEXTS, "12", "1000", "9007199254740993", "9007199254740992", "0.1", "0.3", "2.5", "-1.5", "1e+300", "1e-300",
    "5e-324", "-inf", str(10**22), str(int(1e300)), "2021-03-01", "2021-03-01 10:00:00",
    "2021-03-01 10:00:00.500000", "2021-03-01 10:00:00.5", "unseen", 2, 2.0, True, 1.5, "0.1000000014901161",
    str(-(2**63)), "10000000000",
)  # fmt: skip
BOUNDS = (
    0.0, -0.0, 1, 2.0, 2.5, 12, 0.1, 0.3, 0.1 + 0.2, np.nextafter(0.3, 0).item(), 5e-324, 1e300, 1e308, -1e300,
    9007199254740992.0, 999.5, float(np.float32(0.1)), 4.611686018427388e18, 0.7, 1 / 3,
)  # fmt: skip
CUTS = (
    "2021-03-01", "2021-02-28", "2021-03-01T10:00:00", "2021-03-01T10:00:00.123456", "2021-03-01T08:00:00",
    "1969-12-31T23:59:59.999998", "1600-01-01", "2300-01-01", "0001-01-01", "9999-12-31T12:00:00",
    "2021-11-07T06:00:00", "2021-02-28T20:00:00",
)  # fmt: skip
