"""What errors and warnings say about Python's parameters, in the words of the command line."""

import ast
import re
import shlex

# Where the command has a way of its own. Names stand outside of quotes: inside, they are columns.
_PHRASES = (
    (r"target_transform='log'", "--log"),
    (r', or use "log1p", which takes zeros', ", or leave out --log"),
    (r"\bEmbeddingClassifier learns\b", "--task classification learns"),
    (r"\bEmbeddingRegressor learns\b", "--task regression learns"),
    (r"\bmodel\.save\(path\) writes\b", "catspace fit writes"),
    (r'pass y, or its name: y="Sales"', "name its column with --target"),
    (r"\bpass X as well\b", "name its file with --data"),
    (r"\bexplode it into rows, or turn each value", "leave it out with --drop, or turn each value"),
    (r"\bembeddings_\[column\]\.categories", "those that catspace embeddings lists"),
    (r"^k must\b", "-k must"),
    (r"^groups names\b", "--together names"),
    (r"^n_repeats must\b", "--repeats must"),
    (r"^(experiment|split) must\b", r"--\1 must"),
)
_OPTIONS = {
    "categorical_features": "--categorical",
    "date_parts": "--dates",
    "early_stopping": "--early-stopping",
    "n_networks": "--networks",
    "num_workers": "--workers",
    "random_state": "--seed",
    "storage_path": "--storage",
}
# Those that are set by --set, and that no sentence has in it by chance.
SET = (
    "batch_size",
    "class_weight",
    "date_formats",
    "discretize",
    "embedding_activation",
    "embedding_dim",
    "frozen_columns",
    "handle_unknown",
    "hash_buckets",
    "hidden_layer_sizes",
    "initial_vectors",
    "input_encoding",
    "learning_rate",
    "list_separators",
    "max_categories",
    "max_epochs",
    "min_frequency",
    "n_iter_no_change",
    "n_jobs",
    "shared_vectors",
    "target_transform",
    "validation_fraction",
    "weight_decay",
)
_QUOTED = r"""(?:'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")"""
_LIST = re.compile(
    r"(?P<parameter>categorical_features|date_parts)="
    rf"\[(?P<names>{_QUOTED}(?:, {_QUOTED})*)(?:, …)?\]"
)
_NAME = r"(?<!['\"\w-]){}(?!['\"\w])"


def in_options(text: object) -> str:
    """Return a sentence with the command's options in place of Python's parameters.

    Examples
    --------
    >>> in_options("Hint: categorical_features=['shop', 'day', …] gives each value a vector.")
    'Hint: --categorical shop,day gives each value a vector.'
    >>> in_options("lower learning_rate, which is 0.1.")
    'lower learning_rate, which is 0.1. (--set learning_rate=… changes it.)'
    """
    said = _LIST.sub(_listed, str(text))
    for pattern, words in _PHRASES:
        said = re.sub(pattern, words, said)
    for name, option in _OPTIONS.items():
        said = re.sub(_NAME.format(name) + "=", f"{option} ", said)
        said = re.sub(_NAME.format(name), option, said)
    left = [name for name in SET if re.search(_NAME.format(name), said)]
    if left and "--set" not in said:
        options = " or ".join(f"--set {name}=…" for name in left)
        said += f" ({options} changes it.)"
    return said


def _listed(found: re.Match[str]) -> str:
    """Return a list of Python's as an option takes it: ``--categorical a,b``."""
    names = ast.literal_eval(f"[{found['names']}]")
    return f"{_OPTIONS[found['parameter']]} {shlex.quote(','.join(names))}"
