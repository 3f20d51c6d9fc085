"""catspace beside the paper's network in Keras 3 and in plain torch, on Rossmann, in one run.

Prints test MAPE and fit seconds. Five networks of Keras take some fifteen minutes for each split,
those of torch ten; `--keras 1` trains one, `--keras 0` none, and `--torch` likewise. The networks
of all sides take turns, so that a busy minute of the machine falls on each.
"""

import argparse
import os

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
os.environ["KERAS_BACKEND"] = "tensorflow"

import numpy as np
import pandas as pd
import torch
from common import PAPER_DIMS, mape, print_table, rossmann_split, timed
from torch import nn

from catspace import EmbeddingRegressor

BATCH_SIZE, EPOCHS = 128, 10  # the paper's
# With a number for the smoothing nothing is tried before.
OURS = {"catspace": {}, "catspace, smooth=8": {"smooth": 8}}


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


def by_keras(codes, scaled, test_codes, sizes, seed):
    """Return the seconds that a network in Keras learns, and what it gives for the test rows."""
    network = paper_network(sizes, seed)
    _, seconds = timed(
        lambda: network.fit(codes, scaled, batch_size=BATCH_SIZE, epochs=EPOCHS, verbose=0)
    )
    return seconds, network.predict(test_codes, batch_size=8192, verbose=0)[:, 0]


class PlainNetwork(nn.Module):
    """The same network as a user of torch would write it down."""

    def __init__(self, sizes):
        super().__init__()
        self.embeddings = nn.ModuleList(
            nn.Embedding(sizes[name], dim) for name, dim in PAPER_DIMS.items()
        )
        for embedding in self.embeddings:
            nn.init.uniform_(embedding.weight, -0.05, 0.05)
        self.layers = nn.Sequential(
            nn.Linear(sum(PAPER_DIMS.values()), 1000), nn.ReLU(),
            nn.Linear(1000, 500), nn.ReLU(),
            nn.Linear(500, 1), nn.Sigmoid(),
        )  # fmt: skip

    def forward(self, codes):
        """Map codes (batch, columns) to (batch,)."""
        vectors = [embed(column) for embed, column in zip(self.embeddings, codes.T, strict=True)]
        return self.layers(torch.cat(vectors, dim=1))[:, 0]


def by_torch(codes, scaled, test_codes, sizes, seed):
    """Return the seconds that a network in torch learns, and what it gives for the test rows."""
    torch.manual_seed(seed)
    network = PlainNetwork(sizes)
    X, X_test = (
        torch.from_numpy(np.stack([part[name] for name in PAPER_DIMS], axis=1))
        for part in (codes, test_codes)
    )
    y = torch.from_numpy(scaled).float()

    def learn():
        optimizer = torch.optim.Adam(network.parameters())
        for _ in range(EPOCHS):
            for batch in torch.randperm(len(y)).split(BATCH_SIZE):
                optimizer.zero_grad()
                nn.functional.l1_loss(network(X[batch]), y[batch]).backward()
                optimizer.step()

    _, seconds = timed(learn)
    with torch.no_grad():
        return seconds, network(X_test).numpy()


def run(kind, wanted):
    X, X_test, y, y_test = rossmann_split(kind)
    codes, test_codes, sizes = encode(X, X_test)
    largest = np.log(y.max())
    others = {name: [] for name, n in wanted.items() if n}  # (seconds, predictions) of each network
    ours = {name: [] for name in OURS}
    for seed in range(max(wanted.values()) or 5):
        for name, found in others.items():
            if seed < wanted[name]:
                learn = PEERS[name]
                seconds, outputs = learn(codes, np.log(y) / largest, test_codes, sizes, seed)
                found.append((seconds, np.exp(outputs * largest)))
                report(name, seed, y_test, found[-1])
        for name, options in OURS.items():
            model = EmbeddingRegressor(target_transform="log", random_state=seed, **options)
            _, seconds = timed(lambda model=model: model.fit(X, y))
            ours[name].append((seconds, model.predict(X_test)))
            report(name, seed, y_test, ours[name][-1])
    five = EmbeddingRegressor(n_networks=5, target_transform="log", random_state=0)
    _, five_seconds = timed(lambda: five.fit(X, y))
    five_mape = mape(y_test, five.predict(X_test))

    print(f"\n{kind} split, {len(y):,} training rows, {len(y_test):,} test rows\n")
    rows = [[f"{name}, one network", *mean_of(found, y_test)] for name, found in ours.items()]
    rows.append(["catspace, 5 networks", f"{five_mape:.4f}", f"{five_seconds:.1f}"])
    for name, found in others.items():
        seconds, predictions = zip(*found, strict=True)
        rows.append([f"{name}, one network", *mean_of(found, y_test)])
        if len(found) > 1:
            average = mape(y_test, np.mean(predictions, axis=0))
            rows.append([f"{name}, {len(found)} networks", f"{average:.4f}", f"{sum(seconds):.1f}"])
    print_table(["model", "test MAPE", "fit seconds"], rows)
    if not others:
        return
    print("\nFive networks of the paper take, in networks of the same turn:\n")
    header = ["times as long as", *others]
    print_table(header, ([name, *ratios_of(found, others)] for name, found in ours.items()))


def ratios_of(ours, others):
    """Return how much longer five of each of the others take than one of ours, as cells."""
    for found in others.values():
        turns = zip(found, ours, strict=False)
        ratios = 5 * np.array([seconds / our_seconds for (seconds, _), (our_seconds, _) in turns])
        yield f"{ratios.mean():.0f} ({ratios.min():.0f} to {ratios.max():.0f})"


def mean_of(found, y_test):
    """Return the mean error and seconds of single networks, as cells."""
    errors, seconds = zip(*((mape(y_test, given), taken) for taken, given in found), strict=True)
    return f"{np.mean(errors):.4f}", f"{np.mean(seconds):.1f}"


def report(who, seed, y_test, result):
    seconds, predicted = result
    print(f"  {who} {seed + 1}: {seconds:.1f} s, MAPE {mape(y_test, predicted):.4f}", flush=True)


PEERS = {"Keras": by_keras, "torch": by_torch}

if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--splits", nargs="+", default=["shuffled", "time"])
    parser.add_argument("--keras", type=int, default=5, help="Keras networks for each split")
    parser.add_argument("--torch", type=int, default=5, help="the same in plain torch")
    arguments = parser.parse_args()
    for split in arguments.splits:
        run(split, {"Keras": arguments.keras, "torch": arguments.torch})
