"""CSV: any bytes as a table, read alone and as a model's new rows.

A file is refused by `InputError` in one line, or it is a table that the model predicts or refuses.

Run: python -m experiments.fuzz.csv_tables --seconds 120
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from experiments.fuzz.common import Target, main, scratch_folder

FILES = Path(__file__).parents[2] / "tests" / "files"


def make_target() -> Target:
    from soar_jax import InputError, SOARClassifier
    from soar_jax.data.labels import plain_labels
    from soar_jax.data.learn import learn_contract
    from soar_jax.data.read import read_table
    from soar_jax.states import STATES

    model = SOARClassifier.load(FILES / "model.json")

    def learn(table: Any) -> None:
        """Read it as a fit does: every column, and one of them as labels."""
        try:
            learn_contract(table, None, has_names=True)
            plain_labels(table.iloc[:, 0])
        except InputError as error:
            assert "\n" not in str(error)

    def target(raw: bytes) -> None:
        with scratch_folder() as folder:
            path = folder / "table.csv"
            path.write_bytes(raw)
            for contract in (None, model._contract):
                try:
                    table = read_table(path, contract=contract)
                except InputError as error:
                    assert "\n" not in str(error)
                    continue
                if contract is None:
                    learn(table)
                try:
                    states = model.predict_state(table)
                except InputError as error:
                    assert "\n" not in str(error)
                    continue
                assert len(states) == len(table) and set(states) <= set(STATES)

    return target


if __name__ == "__main__":
    sys.exit(main("csv_tables", make_target))
