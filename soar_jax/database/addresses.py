"""Addresses of databases as they may be shown: without passwords."""

from __future__ import annotations

import re

_SECRET = re.compile(r"pass|pwd|secret|token|key|credential|auth", re.IGNORECASE)


def shown_address(address: str) -> str:
    """Say where a database is: no user, no password.

    Examples
    --------
    >>> shown_address("postgres://me:pw@host/claims?password=pw&port=1")
    'host/claims?password=***&port=1'
    """
    _, _, place, query = _parts(address)
    return f"{place}?{_masked(query, '***')}" if query else place


def address_without_password(address: str) -> str:
    """Leave the password out of an address that is to be typed again.

    Examples
    --------
    >>> address_without_password("postgres://me:pw@host/claims?password=pw&port=1")
    'postgres://me@host/claims?port=1'
    """
    scheme, user, place, query = _parts(address)
    name = user.partition(":")[0]
    left = _masked(query, None)
    return f"{scheme}{name}{'@' if name else ''}{place}{'?' if left else ''}{left}"


def _parts(address: str) -> tuple[str, str, str, str]:
    """Scheme with its colon and slashes, user and password, host and path, query."""
    scheme, colon, rest = address.partition("://")
    if not colon:
        scheme, rest = "", address
    server, slash, path = rest.partition("/")
    user, _, host = server.rpartition("@")  # a password may hold a question mark
    place, _, query = f"{host}{slash}{path}".partition("?")
    if "@" in place:  # or a slash
        user, _, place = f"{user}{place}".rpartition("@")
    if "@" in query:  # nobody can tell what is the password
        return f"{scheme}{colon}", "", "***", ""
    return f"{scheme}{colon}", user, place, query


def _masked(query: str, mask: str | None) -> str:
    """Put a mask in the place of what is secret, or leave it out."""
    given = [pair.partition("=") for pair in re.split("[&;]", query) if pair]
    if mask is None:
        return "&".join("".join(pair) for pair in given if not _SECRET.search(pair[0]))
    return "&".join(f"{pair[0]}={mask}" if _SECRET.search(pair[0]) else "".join(pair) for pair in given)
