"""What estimators become in other languages: SQL, Python source, PMML and JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Self

from sklearn.utils.validation import check_is_fitted

from soar_jax.estimators.prediction import PredictionMixin

if TYPE_CHECKING:
    from soar_jax.export.content import ModelContent


class ExportingMixin(PredictionMixin):
    """Give an estimator ``to_sql``, ``to_python``, ``to_pmml``, ``to_json`` and ``from_json``."""

    def _content(self) -> ModelContent:
        from soar_jax.export.content import describe

        check_is_fitted(self, "classes_")
        sets = self.positive_rules_, self.negative_rules_
        rates, name = self.state_probabilities(), type(self).__name__
        return describe(sets, self.classes_, self._positive_index, rates, name, self._contract)

    def to_sql(
        self,
        dialect: str,
        table: str | Sequence[str],
        key: str | None = None,
        view: str | Sequence[str] | None = None,
        types: Mapping[str, str] | None = None,
    ) -> str:
        """Write the model as one SELECT over a table: what `predict_table` says of each row, and the rules that fire.

        Its columns are ``prediction`` (the label: text, number or boolean), ``probability`` (of the positive class,
        equal to `predict_proba` to the bit), ``state`` and ``rules`` (ids of the rules that fire, P1, P2, ..., N1, ...,
        with a blank between them). Run it as it is, without parameters to fill in.

        Parameters
        ----------
        dialect : str
            ``"duckdb"``, ``"sqlite"``, ``"postgres"`` (or ``"postgresql"``) or ``"spark"``.
        table : str or sequence of str
            Name of the table, taken literally; the parts of a qualified name as ``("schema", "name")``.
        key : str, optional
            A column of the table: it comes first in the result, and the rows are in its order.
        view : str or sequence of str, optional
            Write a CREATE VIEW of this name instead. It works out every row of the table, also when asked for a few.
        types : dict, optional
            How the table stores a column: ``"text"``, ``"integer"``, ``"double"``, ``"real"``, ``"boolean"``,
            ``"date"`` or ``"timestamp"``. Without it a column is read by the type the database says it has, through
            its text, which is right but longer and slower.

        Notes
        -----
        Values are read and compared as `predict` does it: levels by name (2, 2.0, "2" and "2.0" are one, so are true
        and 1), text that spells a number as that number, dates in the format that was declared for their column, NaN,
        NULL, the words that meant so at the fit and what cannot be read as missing. What differs:

        - `predict` refuses and warns where an engine gives NULL: give ``types``, and a type that `predict` refuses is
          refused here; a column that was declared ``strict`` needs them. `predict_table` looks at the types itself.
        - Formats of dates are read as far as they are made of %Y, %y, %m, %d, %H, %M, %S and %f; others are refused,
          and so are all by SQLite, unless ``types`` says that the table stores dates.
        - An instant (TIMESTAMPTZ; TIMESTAMP of Spark) is read in UTC; moments count in whole microseconds.
        - Decimals are read as float64. CHAR(n) is read without its padding.
        - PostgreSQL takes text of more than 1,000 characters for no number.
        - SQLite stores NaN as NULL and rounds some text numbers in the last bit otherwise than Python; a text that
          spells a cut point as Python does is equal to it all the same.

        Names and values are quoted, whatever they hold; what a database cannot hold or tell apart (NUL, for Spark a
        ``${...}`` in a name, names that differ by case only) raises InputError.
        """
        from soar_jax.export.sql import sql_of

        return sql_of(self._content(), dialect, table, key, view, types)

    def to_python(self) -> str:
        """Write the model as a Python module that imports nothing but the standard library.

        It has ``predict(row)``, from a dictionary of column to value to a dictionary of ``state``, ``label``,
        ``probability`` and ``rules``, and ``predict_many(rows)``. Values are read as `predict` reads them; a value of a
        type that `predict` refuses raises ValueError.
        """
        from soar_jax.export.python_source import python_of

        return python_of(self._content())

    def to_pmml(self, types: Mapping[str, str] | None = None) -> str:
        """Write the model as a PMML 4.4 RuleSetModel with the outputs prediction, probability, state and rules.

        The four states are the rules of the rule set, with the label and the probabilities of both classes; the
        model's own rules are boolean derived fields named ``rule P1``, ``rule N1`` and so on. An output whose name is
        that of a column the rules read gets an underscore at its end.

        Parameters
        ----------
        types : dict, optional
            What the evaluator is given, as in `to_sql`. Without it a column that rules compare with numbers is a
            double, with dates a dateTime, and with levels a string.

        Notes
        -----
        A PMML field has one type, and evaluators turn values into it by rules of their own, before the model sees them.
        Give a string field strings: a number that arrives there is spelled as the evaluator likes. A value that cannot
        be turned into its field's type counts as missing. Text cannot be compared with dates. Whole numbers are
        float64, so that levels of 2**53 and beyond raise InputError.
        """
        from soar_jax.export.pmml import pmml_of

        return pmml_of(self._content(), types)

    def to_json(self) -> str:
        """Give what `save` writes as text; `soar_jax.export.schema.model_schema` describes it."""
        from soar_jax.estimators.model_file import model_text

        check_is_fitted(self, "classes_")
        return model_text(self)

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Make a fitted estimator from what `to_json` gave."""
        from soar_jax.estimators.model_file import model_from_text

        return model_from_text(text, {cls.__name__: cls}, "This text")
