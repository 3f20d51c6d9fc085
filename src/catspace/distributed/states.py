"""What workers keep after an epoch, to go on from: here, or in a fit that is called again."""

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import ray.train
import torch

from catspace.model.choice import Judged
from catspace.model.pairs import Pair
from catspace.model.plan import TrainingPlan
from catspace.model.recipe import Recipe
from catspace.model.training import Training


@dataclass(frozen=True)
class Begun:
    """What was found and drawn before the first epoch."""

    digest: str  # of the rows of this worker
    seeds: Sequence[int]
    recipe: Recipe
    dropout: float
    judged: Judged | None
    pairs: Sequence[Pair] = ()  # of columns, of which networks are told

    def settled(self, plan: TrainingPlan) -> TrainingPlan:
        """Return a plan whose smoothing has been found."""
        pairs = tuple((first, second) for first, second in self.pairs)
        # A file holds no function that is minimised; the plan does.
        recipe = replace(self.recipe, loss=plan.recipe.loss)
        return replace(plan, pairs=pairs).settled(recipe, self.dropout)


@dataclass(frozen=True)
class Kept:
    """The states of a worker after the last epoch that all workers came to the end of."""

    folder: Path
    rank: int
    begun: Begun

    def restore(self, trainings: Sequence[Training]) -> None:
        """Let trainings go on from there."""
        for training in trainings:
            common, own = _files(self.folder, training, self.rank)
            state = torch.load(common, weights_only=True)
            training.restore({**state, "own": torch.load(own, weights_only=True)})


def open_kept(stack: ExitStack, rank: int) -> Kept | None:
    """Return what this worker, or one before it, has kept; None where there is nothing yet."""
    checkpoint = ray.train.get_checkpoint()
    if checkpoint is None:
        return None
    folder = Path(stack.enter_context(checkpoint.as_directory()))
    found = torch.load(folder / f"begun-{rank}.pt", weights_only=True)
    judged = None if found["judged"] is None else Judged(**found["judged"])
    recipe = Recipe.from_state(found["recipe"])
    begun = Begun(found["digest"], found["seeds"], recipe, found["dropout"], judged, found["pairs"])
    return Kept(folder, rank, begun)


def write_states(
    folder: Path, begun: Begun, trainings: Sequence[Training], rank: int, *, is_common: bool
) -> None:
    """Write what is needed to go on; what workers have in common is written by one of them."""
    said = {**asdict(begun), "recipe": begun.recipe.to_state()}
    torch.save(said, folder / f"begun-{rank}.pt")
    for training in trainings:
        common, own = _files(folder, training, rank)
        state = training.state()
        torch.save(state.pop("own"), own)
        if is_common:
            torch.save(state, common)


def _files(folder: Path, training: Training, rank: int) -> tuple[Path, Path]:
    """Return where the state of a training is, and the part of it that is this worker's own."""
    index = training.index
    return folder / f"common-{index}.pt", folder / f"own-{index}-{rank}.pt"
