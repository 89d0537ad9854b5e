"""What is known of a fitted pair: against which patterns it stood, and against which it was not tried."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Certificate:
    """A local optimum, and among what.

    Attributes
    ----------
    holds : bool
        No addition, removal or exchange of a rule among the patterns improves the score.
    num_patterns : int
        How many patterns it speaks of, counted for each side that they may stand for.
    are_all_mined : bool
        Whether these are all mined patterns, or the candidates that a screen left.
    longest : int
        Most literals in them.
    grown_to : int
        Most literals of the conjunctions that were grown beside them, by a beam that may miss some; equal to
        ``longest`` where none were.
    is_edited : bool
        Rules were changed by hand after the search.
    is_constrained : bool
        Whether it speaks of what constraints allow only.
    num_required : int
        Rules that had to be in: they were not to be removed or exchanged.
    columns : tuple of str
        The columns that were chosen first where their number was limited; empty where it was not.
    num_sampled : int
        Rows of the sample that the candidates were mined on; 0 where they were mined on all rows.
    num_paired : int
        Where a table has too many pairs of literals: pairs were mined with one of so many literals; 0 for all.
    was_stopped : bool
        The time budget or an interrupt ended the search early.
    was_interrupted : bool
        It is known that this was an interrupt.
    """

    holds: bool
    num_patterns: int
    are_all_mined: bool
    longest: int
    grown_to: int
    is_edited: bool = False
    is_constrained: bool = False
    num_required: int = 0
    columns: tuple[str, ...] = ()
    num_sampled: int = 0
    was_stopped: bool = False
    num_paired: int = 0
    was_interrupted: bool = False

    def __bool__(self) -> bool:
        """Say whether it holds."""
        return self.holds

    def __str__(self) -> str:
        """Read it aloud."""
        if self.is_edited:
            return "Not certified: rules were changed by hand after the search."
        if not self.holds and self.was_stopped:
            return (
                f"Not certified: the search was {self._how_stopped} before it was shown that no added, removed or "
                "exchanged rule improves the pair."
            )
        if not self.holds:
            return "Not certified: it was not shown that no added, removed or exchanged rule improves the pair."
        what = "mined patterns" if self.are_all_mined else "candidates"
        literals = "literal" if self.longest == 1 else "literals"
        text = (
            f"No added, removed or exchanged rule improves the pair, among all {self.num_patterns:,} {what} of up to "
            f"{self.longest} {literals}{' that the constraints allow' if self.is_constrained else ''}"
        )
        if self.num_paired and self.are_all_mined:
            text += (
                f": every single literal, and pairs with at least one of the {self.num_paired:,} literals that tell "
                "the classes apart best"
            )
        text += "."
        if self.grown_to > self.longest:
            text += f" Longer rules, of up to {self.grown_to} literals, were grown by a beam, which may miss some."
        if self.num_sampled:
            text += (
                f" These were mined on a sample of {self.num_sampled:,} rows and counted on all rows: the score is of "
                "the whole table, but patterns that the sample did not show were not tried."
            )
        if self.num_required:
            text += f" {self.num_required} required rule{'s stay' if self.num_required > 1 else ' stays'} in."
        if self.columns:
            text += f" All this is given the columns chosen first: {', '.join(self.columns)}."
        if self.was_stopped:
            text += f" The search was {self._how_stopped} before it had tried all it would."
        return text

    @property
    def _how_stopped(self) -> str:
        return "interrupted" if self.was_interrupted else "stopped, by its time budget or an interrupt,"
