"""Moments in time as microseconds since 1970 UTC: printed, read, and rounded to calendar units."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_SECOND = 1_000_000
_STEPS = (86400 * _SECOND, 3600 * _SECOND, 60 * _SECOND, _SECOND, 1000, 1)


def microseconds_of(text: str) -> float:
    """Read an ISO moment (UTC) as microseconds since 1970."""
    return float((datetime.fromisoformat(text).replace(tzinfo=UTC) - EPOCH) // timedelta(microseconds=1))


def moment_text(microseconds: float) -> str:
    """Print microseconds since 1970 as an ISO date, with the time only where there is one."""
    moment = (EPOCH + timedelta(microseconds=int(microseconds))).replace(tzinfo=None)
    return moment.date().isoformat() if moment.time() == moment.min.time() else moment.isoformat()


def shortest_time(low: float, high: float) -> float:
    """Find the roundest moment in [low, high), in microseconds: a year, month, day, hour, minute or second."""
    top = EPOCH + timedelta(microseconds=int(high))
    for moment in (datetime(top.year, 1, 1, tzinfo=UTC), datetime(top.year, top.month, 1, tzinfo=UTC)):
        value = float((moment - EPOCH) // timedelta(microseconds=1))
        if low <= value < high:
            return value
    middle = int(low) + (int(high) - int(low)) // 2
    for step in _STEPS:
        for candidate in (middle // step * step, (middle // step + 1) * step):
            if low <= candidate < high:
                return float(candidate)
    return low
