"""Where the states of a training are kept, so that it can go on after whatever happens."""

import hashlib
import json
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

import numpy as np
import pyarrow as pa
from pyarrow import fs

from catspace.exceptions import ParameterError
from catspace.model.plan import TrainingPlan
from catspace.preparation.learning import Learned
from catspace.storage.model_file import stream_of
from catspace.storage.paths import expand

# Where Ray writes down which states of a run are the last of all workers: over what was there, so
# that a kill in that instant leaves neither. And a copy of the last that was whole.
_NOTE = "checkpoint_manager_snapshot.json"
_WHOLE_NOTE = f"{_NOTE}.whole"


@dataclass(frozen=True)
class Storage:
    """A folder that all nodes share, or a URI."""

    path: str

    @classmethod
    def open(cls, path: str | Path) -> "Storage":
        """Return the storage at a path, which is made where there is none."""
        if "://" not in str(path):
            path = expand(path).absolute()
        storage = cls(str(path))
        try:
            filesystem, folder = storage._open()
            filesystem.create_dir(folder)
        except (OSError, pa.ArrowException) as error:
            raise ParameterError(
                f"storage_path={storage.path!r} cannot be used: {str(error).splitlines()[0]}"
            ) from None
        return storage

    @contextmanager
    def marked(self) -> Iterator[Path | None]:
        """Yield a file in it, which every node must see; None where the storage is no folder."""
        if "://" in self.path:
            yield None
            return
        marker = Path(self.path) / f".catspace-{secrets.token_hex(8)}"
        marker.write_bytes(b"Do all nodes see this?\n")
        try:
            yield marker
        finally:
            marker.unlink(missing_ok=True)

    def keep_note(self, run: str) -> None:
        """Keep a copy of what Ray has written down of a run; it must have finished writing."""
        filesystem, folder = self._open()
        whole, new = f"{folder}/{run}/{_WHOLE_NOTE}", f"{folder}/{run}/{_WHOLE_NOTE}.new"
        filesystem.copy_file(f"{folder}/{run}/{_NOTE}", new)
        filesystem.move(new, whole)

    def mend_note(self, run: str) -> None:
        """Put the last whole copy in place of a note that a kill has cut off.

        The states that it speaks of are there: Ray removes them when the next note is written.
        """
        filesystem, folder = self._open()
        note, whole = f"{folder}/{run}/{_NOTE}", f"{folder}/{run}/{_WHOLE_NOTE}"
        found = filesystem.get_file_info([note, whole])
        if not found[0].is_file or _is_json(filesystem, note):
            return
        filesystem.delete_file(note)  # without a copy there is no state yet
        if found[1].is_file:
            filesystem.copy_file(whole, note)

    def remove(self, run: str) -> None:
        """Remove what a run has left, which has come to its end."""
        filesystem, folder = self._open()
        with suppress(OSError, pa.ArrowException):  # a folder too many does less harm than no model
            filesystem.delete_dir(f"{folder}/{run}")

    def _open(self) -> tuple[fs.FileSystem, str]:
        filesystem, folder = fs.FileSystem.from_uri(self.path)
        return filesystem, folder


def _is_json(filesystem: fs.FileSystem, path: str) -> bool:
    with filesystem.open_input_stream(path) as file:
        try:
            json.loads(file.read())
        except ValueError:  # also text that is cut off within a character
            return False
    return True


def name_run(learned: Learned, plan: TrainingPlan, *how: object, is_seeded: bool) -> str:
    """Return a name that is the same for the same training, and for no other.

    Without a seed any seeds will do, so that also such a training can go on.
    """
    document, arrays = learned.to_state()
    seeds = list(plan.seeds) if is_seeded else len(plan.seeds)
    lengths = None if plan.lengths is None else [one.to_state() for one in plan.lengths]
    found_later = (lengths, plan.noisy_dropout, plan.unsettled, plan.tries_pairs, plan.pairs)
    settings = (plan.architecture, plan.recipe.to_state(), found_later, seeds, how)
    said = [version("catspace"), document, sorted(arrays), repr(settings)]
    digest = hashlib.blake2b(json.dumps(said, sort_keys=True).encode(), digest_size=8)
    starts = plan.starts.values()
    given = [array for one in starts for array in (one.vectors, np.array(one.is_frozen))]
    for array in (*(arrays[name] for name in sorted(arrays)), *plan.edges, *given):
        found = stream_of(array) if isinstance(array, pa.Array) else array
        digest.update(found.tobytes())
    return f"catspace-{digest.hexdigest()}"
