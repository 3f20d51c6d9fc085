"""The columns that a model was fitted on, and whether a new table has them."""

from collections.abc import Sequence
from dataclasses import dataclass

from catspace.data.table import Table
from catspace.exceptions import InputError, warn


@dataclass(frozen=True)
class Schema:
    """The columns that a model was fitted on."""

    names: tuple[str, ...]
    named: bool  # whether the names are the user's own
    # The column that the target was taken from, where fit was given its name
    target: str | None = None

    @classmethod
    def of(cls, table: Table, target: str | None = None) -> "Schema":
        """Return the schema of a training table, which must not be empty."""
        _refuse_empty(table)
        return cls(tuple(table.names), table.named, target)

    def conform(self, table: Table, estimator: str, *, is_file: bool) -> Table:
        """Return a new table with the columns of fit, or say how it differs.

        Where both have names, they must agree, order included: that is scikit-learn's rule. The
        target may still be there if fit found it by name. A file may hold any more columns, and is
        read by name. Without names, position counts.
        """
        if self.target in table.names and self.target not in self.names:
            table = table.select([name for name in table.names if name != self.target])
        if is_file and self.named:
            table = table.select([name for name in self.names if name in table.names])
        if self.named and table.named:
            _compare_names(self.names, table.names)
        elif self.named:
            warn(
                f"X does not have valid feature names, but {estimator} was fitted with feature "
                "names",
                UserWarning,
            )
        elif table.named:
            warn(
                f"X has feature names, but {estimator} was fitted without feature names",
                UserWarning,
            )
        if len(table.columns) != len(self.names):
            raise InputError(
                f"X has {len(table.columns)} features, but {estimator} is expecting "
                f"{len(self.names)} features as input."
            )
        _refuse_empty(table)
        return table if table.names == list(self.names) else table.rename(self.names)


def _refuse_empty(table: Table) -> None:
    shape = (table.n_rows, len(table.columns))
    if shape[1] == 0:
        raise InputError(
            f"The table has no columns: 0 feature(s) (shape={shape}) while a minimum of 1 is "
            "required."
        )
    if shape[0] == 0:
        raise InputError(
            f"The table has no rows: 0 sample(s) (shape={shape}) while a minimum of 1 is required."
        )


def _compare_names(fitted: Sequence[str], new: Sequence[str]) -> None:
    if list(fitted) == list(new):
        return
    message = "The feature names should match those that were passed during fit.\n"
    unseen, missing = sorted(set(new) - set(fitted)), sorted(set(fitted) - set(new))
    for title, names in (
        ("Feature names unseen at fit time", unseen),
        ("Feature names seen at fit time, yet now missing", missing),
    ):
        if names:
            shown = [*names[:5], "..."] if len(names) > 5 else names
            message += f"{title}:\n" + "".join(f"- {name}\n" for name in shown)
    if not unseen and not missing:
        message += "Feature names must be in the same order as they were in fit.\n"
    hint = None if missing else "X[list(model.feature_names_in_)] has the right columns."
    raise InputError(message.rstrip("\n") + "\n", hint=hint)
