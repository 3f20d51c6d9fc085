"""catspace beside the paper's network in Keras 3, on the Rossmann data, in one run.

Prints test MAPE and fit seconds. The five Keras networks take some fifteen minutes for each split;
`--keras 1` trains one, `--keras 0` none. The networks of both sides take turns, so that a busy
minute of the machine falls on both.
"""

import argparse
import os

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
os.environ["KERAS_BACKEND"] = "tensorflow"

import numpy as np
import pandas as pd
from common import PAPER_DIMS, mape, print_table, rossmann_split, timed

from catspace import EmbeddingRegressor


def encode(X, X_test):
    """Return one integer array for each column, as Keras wants them."""
    both = pd.concat([X, X_test])
    codes = {name: pd.factorize(both[name], sort=True)[0] for name in both}
    head = {name: values[: len(X)] for name, values in codes.items()}
    tail = {name: values[len(X) :] for name, values in codes.items()}
    return head, tail, {name: int(values.max()) + 1 for name, values in codes.items()}


def paper_network(sizes, seed):
    """Build the network that the paper describes."""
    import keras  # half a gigabyte that only this needs

    keras.utils.set_random_seed(seed)
    inputs, vectors = [], []
    for name, dim in PAPER_DIMS.items():
        column = keras.Input((1,), name=name, dtype="int32")
        inputs.append(column)
        vector = keras.layers.Embedding(sizes[name], dim, embeddings_initializer="uniform")(column)
        vectors.append(keras.layers.Flatten()(vector))
    x = keras.layers.Concatenate()(vectors)
    x = keras.layers.Dense(1000, activation="relu")(x)
    x = keras.layers.Dense(500, activation="relu")(x)
    model = keras.Model(inputs, keras.layers.Dense(1, activation="sigmoid")(x))
    model.compile(optimizer="adam", loss="mean_absolute_error")
    return model


def run(kind, n_keras):
    X, X_test, y, y_test = rossmann_split(kind)
    codes, test_codes, sizes = encode(X, X_test)
    largest = np.log(y.max())
    scaled = np.log(y) / largest

    by_keras, by_us = [], []  # (seconds, predictions) of each network
    for seed in range(n_keras or 5):
        if n_keras:
            network = paper_network(sizes, seed)
            _, seconds = timed(
                lambda network=network: network.fit(
                    codes, scaled, batch_size=128, epochs=10, verbose=0
                )
            )
            outputs = network.predict(test_codes, batch_size=8192, verbose=0)[:, 0]
            by_keras.append((seconds, np.exp(outputs * largest)))
            report("Keras", seed, y_test, by_keras[-1])

        model = EmbeddingRegressor(target_transform="log", random_state=seed)
        _, seconds = timed(lambda model=model: model.fit(X, y))
        by_us.append((seconds, model.predict(X_test)))
        report("catspace", seed, y_test, by_us[-1])
    five = EmbeddingRegressor(n_networks=5, target_transform="log", random_state=0)
    _, five_seconds = timed(lambda: five.fit(X, y))

    our_seconds, our_predictions = zip(*by_us, strict=True)
    our_mape = np.mean([mape(y_test, predicted) for predicted in our_predictions])
    five_mape = mape(y_test, five.predict(X_test))
    print(f"\n{kind} split, {len(y):,} training rows, {len(y_test):,} test rows\n")
    rows = [
        ["catspace, one network", f"{our_mape:.4f}", f"{np.mean(our_seconds):.1f}"],
        ["catspace, 5 networks", f"{five_mape:.4f}", f"{five_seconds:.1f}"],
    ]
    if not n_keras:
        print_table(["model", "test MAPE", "fit seconds"], rows)
        return
    keras_seconds, keras_predictions = zip(*by_keras, strict=True)
    keras_mape = np.mean([mape(y_test, predicted) for predicted in keras_predictions])
    keras_average = mape(y_test, np.mean(keras_predictions, axis=0))
    rows += [
        ["Keras, one network", f"{keras_mape:.4f}", f"{np.mean(keras_seconds):.0f}"],
        [f"Keras, {n_keras} networks", f"{keras_average:.4f}", f"{sum(keras_seconds):.0f}"],
    ]
    print_table(["model", "test MAPE", "fit seconds"], rows)
    ratios = np.array(keras_seconds) / np.array(our_seconds)
    print(
        f"\nKeras takes {ratios.mean():.1f} times as long for one network ({ratios.min():.1f} to "
        f"{ratios.max():.1f}), and its {n_keras} {sum(keras_seconds) / five_seconds:.1f} times as "
        "long as catspace's five.\n"
    )


def report(who, seed, y_test, result):
    seconds, predicted = result
    print(f"  {who} {seed + 1}: {seconds:.1f} s, MAPE {mape(y_test, predicted):.4f}", flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--splits", nargs="+", default=["shuffled", "time"])
    parser.add_argument("--keras", type=int, default=5, help="Keras networks for each split")
    arguments = parser.parse_args()
    for split in arguments.splits:
        run(split, arguments.keras)
