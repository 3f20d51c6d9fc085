"""How long one question takes among a million categories; `make bench` prints it."""

import statistics
import time

import numpy as np
import pyarrow as pa
from sklearn.neighbors import NearestNeighbors

from catspace.data.vocabulary import N_SPECIAL, Vocabulary
from catspace.embeddings import Embedding

N, DIM, QUESTIONS = 1_000_000, 50, 20


def main():
    random = np.random.default_rng(0)
    rows = np.arange(N) + N_SPECIAL
    vocabulary = Vocabulary(
        {"number": pa.array(np.arange(N))}, {"number": rows}, np.ones(N + N_SPECIAL, dtype=int)
    )
    table = random.normal(size=(N + N_SPECIAL, DIM)).astype(np.float32)
    embedding = Embedding("id", vocabulary, table)
    theirs = NearestNeighbors(algorithm="brute").fit(embedding.vectors)
    searches = {
        "catspace": lambda c: embedding.search(embedding.vector(c), k=10, without=[c]),
        "scikit-learn": lambda c: theirs.kneighbors(embedding.vector(c)[None], n_neighbors=11),
    }
    print(f"the 10 nearest of {N:,} categories in {DIM} dimensions:")
    for name, search in searches.items():
        seconds = []
        for category in random.integers(N, size=QUESTIONS).tolist():
            start = time.perf_counter()
            search(category)
            seconds.append(time.perf_counter() - start)
        print(
            f"{name}: {1000 * statistics.median(seconds):.0f} ms (slowest of {QUESTIONS}: "
            f"{1000 * max(seconds):.0f} ms)"
        )


if __name__ == "__main__":
    main()
