"""Model files that are damaged, and model files that somebody made."""

import random
from collections.abc import Callable
from pathlib import Path

import catspace
from catspace.exceptions import ModelFileError
from tests.campaigns.outcome import Outcome
from tests.storage.crafting import run_campaign
from tests.storage.small_models import X, save_classifier, save_regressor

_SEVEN_BITS = bytes(byte & 0x7F for byte in range(256))


def damage_files(n_cases: int, *, seed: int, folder: Path) -> Outcome:
    """Open model files that are damaged at random: each is refused in a sentence."""
    outcome, path = Outcome(), folder / "damaged.catspace"
    models = [save_regressor(folder).read_bytes(), save_classifier(folder).read_bytes()]
    for case in range(n_cases):
        whole, dice = models[case % 2], random.Random(f"{seed} {case}")
        damage = dice.choice(_DAMAGES)
        content = damage(whole, dice)
        if content == whole:
            content = _flip(whole, dice)
        _write_again(path, content)
        with outcome.case(f"{case}, {damage.__name__[1:]}"):
            try:
                catspace.load(path)
            except ModelFileError:
                outcome.counts["refused"] += 1
            else:
                raise AssertionError("it was opened")
    return outcome


def _write_again(path: Path, content: bytes) -> None:
    """Write a file without emptying it first, which takes some file systems milliseconds."""
    with path.open("r+b" if path.exists() else "wb") as file:
        file.write(content)
        file.truncate()


def craft_files(n_cases: int, *, seed: int, folder: Path) -> Outcome:
    """Open model files with a right checksum and hostile content, and predict with them."""
    outcome = Outcome()
    for n, save in ((n_cases // 2, save_classifier), (n_cases - n_cases // 2, save_regressor)):
        counts, raw = run_campaign(save(folder), X, n_cases=n, seed=seed, folder=folder)
        outcome.n_cases += n
        outcome.wrong += raw
        outcome.counts.update(counts)
    del outcome.counts["raw"]  # they are the wrong ones
    return outcome


def _flip(content: bytes, dice: random.Random) -> bytes:
    """Change one bit."""
    changed = bytearray(content)
    changed[dice.randrange(len(changed))] ^= 1 << dice.randrange(8)
    return bytes(changed)


def _scatter(content: bytes, dice: random.Random) -> bytes:
    """Change some bytes, here and there."""
    changed = bytearray(content)
    for _ in range(dice.randint(1, 100)):
        changed[dice.randrange(len(changed))] = dice.randrange(256)
    return bytes(changed)


def _cut(content: bytes, dice: random.Random) -> bytes:
    """Leave out the end."""
    return content[: dice.randrange(len(content))]


def _blank(content: bytes, dice: random.Random) -> bytes:
    """Put zeros in the place of a part, as a disk does that never wrote it."""
    begin, end = sorted(dice.randrange(len(content) + 1) for _ in range(2))
    return content[:begin] + bytes(end - begin) + content[end:]


def _move(content: bytes, dice: random.Random) -> bytes:
    """Put a part of the file elsewhere."""
    begin, end, to = sorted(dice.randrange(len(content) + 1) for _ in range(3))
    return content[:begin] + content[end:to] + content[begin:end] + content[to:]


def _insert(content: bytes, dice: random.Random) -> bytes:
    """Put bytes between, or behind the end."""
    at = dice.choice((len(content), dice.randrange(len(content))))
    return content[:at] + dice.randbytes(dice.randint(1, 50)) + content[at:]


def _translate(content: bytes, dice: random.Random) -> bytes:
    """Change the ends of lines, or the encoding, as programs do that take a file for text."""
    translations: tuple[Callable[[], bytes], ...] = (
        lambda: content.replace(b"\n", b"\r\n"),
        lambda: content.decode("latin-1").encode("utf-8"),
        lambda: content.decode("utf-8", errors="replace").encode("utf-8"),
        lambda: content.translate(_SEVEN_BITS),
    )
    return dice.choice(translations)()


def _claim(content: bytes, dice: random.Random) -> bytes:
    """Say something else about the length of the header, or about an array."""
    if dice.random() < 0.5:
        length = dice.choice((0, 1, 2**32, 2**63, 2**64 - 1, dice.randrange(2**17)))
        return length.to_bytes(8, "little") + content[8:]
    digits = [i for i, byte in enumerate(content[:4000]) if 48 <= byte < 58]
    changed = bytearray(content)
    changed[dice.choice(digits)] = dice.choice(b"0123456789-.e")
    return bytes(changed)


_DAMAGES: tuple[Callable[[bytes, random.Random], bytes], ...] = (
    _flip, _scatter, _cut, _blank, _move, _insert, _translate, _claim,
)  # fmt: skip
