"""What became of the cases of a campaign."""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field


@dataclass
class Outcome:
    """Counts of what happened, and a sentence for each case that went wrong."""

    n_cases: int = 0
    counts: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)

    @contextmanager
    def case(self, name: object) -> Iterator[None]:
        """Count a case; whatever is raised in it, a failed assertion too, is a wrong one."""
        self.n_cases += 1
        try:
            yield
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            self.wrong.append(f"{name}: {type(error).__name__}: {str(error)[:300]}")
