import numpy as np
import pyarrow as pa

from catspace.analysis import DistanceMatrix
from catspace.data.reading import read_table
from catspace.data.vocabulary import N_SPECIAL, Vocabulary
from catspace.embeddings import Embedding, Embeddings


def make_embedding(vectors, categories=None, column="place", counts=None, backend="pandas"):
    """Build an embedding with chosen vectors: categories a, b, c, … unless they are named."""
    vectors = np.asarray(vectors, dtype=np.float32)
    if categories is None:
        categories = [f"c{i:05d}" for i in range(len(vectors))]
    values = pa.array(np.repeat(categories, 1 if counts is None else counts))
    vocabulary = Vocabulary.fit(read_table({column: values}).columns[0])
    table = np.zeros((N_SPECIAL + len(vectors), vectors.shape[1]), dtype=np.float32)
    order = [categories.index(category) for category in vocabulary.categories]
    table[N_SPECIAL:] = vectors[order]
    return Embeddings({column: Embedding(column, vocabulary, table, backend)})


def matrix(values, names=None):
    """Build distances with chosen values."""
    values = np.asarray(values, dtype=float)
    names = names or [f"c{i:05d}" for i in range(len(values))]
    return DistanceMatrix("place", names, values, np.ones(values.shape, dtype=int), "pandas")
