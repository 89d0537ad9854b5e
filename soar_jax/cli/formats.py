"""What a result is written as: the suffix of its file decides, and one that is not known is refused."""

from __future__ import annotations

import gzip
import io
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from soar_jax._base import DataWarning, InputError
from soar_jax._names import short_name

if TYPE_CHECKING:
    import pandas as pd

MODEL = (".json",)
TABLE = (".csv", ".csv.gz", ".json", ".jsonl", ".parquet")
TEXT_OR_JSON = (".txt", ".json")
REPORT = (".html", ".md")
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def suffix_of(path: str | Path, known: Sequence[str], what: str) -> str:
    """Find which of the known suffixes a file has."""
    name = Path(path).name.lower()
    for suffix in sorted(known, key=len, reverse=True):
        if name.endswith(suffix) and name != suffix:
            return suffix
    raise InputError(f"{what} to a file that ends in {_either(known)}, not to {short_name(Path(path).name)}.")


def agree_on_json(suffix: str, is_json: bool) -> None:
    """Refuse ``--json`` beside a suffix that says otherwise."""
    if is_json and not suffix.startswith(".json"):
        raise InputError(f"--json asks for JSON, but --out ends in {suffix}; leave one of them out.")


def table_bytes(frame: pd.DataFrame, suffix: str) -> bytes:
    """Write a table in the format of a suffix."""
    if suffix == ".parquet":
        buffer = io.BytesIO()
        try:
            frame.to_parquet(buffer, index=False)
        except ImportError:
            raise InputError("Writing Parquet needs pyarrow: pip install 'soar-jax[parquet]'.") from None
        return buffer.getvalue()
    if suffix == ".csv.gz":
        return gzip.compress(csv_text(frame).encode(), mtime=0)  # the same rows give the same bytes
    return (json_text(frame, suffix == ".jsonl") if suffix.startswith(".json") else csv_text(frame)).encode()


def csv_text(frame: pd.DataFrame) -> str:
    """Write a table as CSV; what a spreadsheet would take for a formula is warned about."""
    from soar_jax.data.spelling import is_number

    for name, column in frame.select_dtypes(exclude=["number", "bool"]).items():
        if any(str(text).startswith(_FORMULA) and not is_number(str(text)) for text in column.drop_duplicates()):
            warnings.warn(
                f"Values of {short_name(name)} begin as formulas do (=, +, -, @), and a spreadsheet that opens the CSV "
                "would compute them. Give such labels another name, or write JSON or Parquet.",
                DataWarning,
                stacklevel=2,
            )
    return str(frame.to_csv(index=False))


def json_text(frame: pd.DataFrame, is_lines: bool) -> str:
    """Write a table as JSON: one object per line, or a list of them."""
    text = frame.to_json(orient="records", lines=is_lines, force_ascii=False, double_precision=15)
    return text if text.endswith("\n") else text + "\n"


def _either(known: Sequence[str]) -> str:
    return known[0] if len(known) == 1 else f"{', '.join(known[:-1])} or {known[-1]}"
