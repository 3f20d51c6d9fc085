"""The outputs of a network, by threads that stay."""

import multiprocessing
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import torch

from catspace.model.architecture import Architecture
from catspace.model.network import EntityNetwork
from catspace.model.prediction import predict

CPU = torch.device("cpu")
N = 20_000  # rows, which are several blocks


@pytest.fixture(scope="module")
def network():
    network = EntityNetwork(Architecture((50, 7), (5, 3), (0, 0), 2, (64, 32)))
    network.initialize("normal", torch.Generator().manual_seed(0))
    return network


@pytest.fixture(scope="module")
def rows():
    generator = torch.Generator().manual_seed(1)
    codes = torch.stack([torch.randint(n, (N,), generator=generator) for n in (50, 7)])
    return codes.int(), torch.randn(N, 2, generator=generator)


@pytest.fixture(scope="module")
def expected(network, rows):
    return predict(network, *rows, CPU)


@pytest.mark.parametrize("n_jobs", [1, 2, 3, -1, None])
def test_the_number_of_jobs_changes_no_bit(network, rows, expected, n_jobs):
    np.testing.assert_array_equal(predict(network, *rows, CPU, n_jobs=n_jobs), expected)


def test_a_row_alone_gets_what_it_gets_among_others(network, rows, expected):
    codes, numbers = rows
    for i in (0, 31, 8191, 8192, N - 1):
        alone = predict(network, codes[:, i : i + 1], numbers[i : i + 1], CPU)
        np.testing.assert_array_equal(alone, expected[i : i + 1])


def test_no_rows_have_no_outputs(network, rows):
    codes, numbers = rows
    assert predict(network, codes[:, :0], numbers[:0], CPU).shape == (0, 2)


def test_eight_threads_ask_one_network_and_each_gets_its_own_rows(network, rows, expected):
    codes, numbers = rows
    parts = np.array_split(np.arange(N), 64)

    def ask(part):
        return predict(network, codes[:, part], numbers[part], CPU, n_jobs=2)

    with ThreadPoolExecutor(8) as pool:
        found = np.concatenate(list(pool.map(ask, parts)))
    np.testing.assert_array_equal(found, expected)


def test_torch_keeps_its_threads_and_no_thread_is_started_for_a_second_call(network, rows):
    codes, numbers = rows
    torch.set_num_threads(2)
    predict(network, codes[:, :1], numbers[:1], CPU)
    before = set(threading.enumerate())
    for _ in range(5):
        predict(network, codes[:, :1], numbers[:1], CPU)
    assert torch.get_num_threads() == 2
    assert len(set(threading.enumerate()) - before) <= 1  # an idle one may not be back yet


def _ask(network, rows, queue):
    queue.put(predict(network, *rows, CPU))


@pytest.mark.filterwarnings("ignore:.*multi-threaded, use of fork")
def test_a_forked_process_predicts_too(network, rows, expected):
    codes, numbers = rows
    few = codes[:, :100], numbers[:100]
    predict(network, *few, CPU)  # the threads are there now
    context = multiprocessing.get_context("fork")
    queue = context.Queue()
    child = context.Process(target=_ask, args=(network, few, queue))
    child.start()
    np.testing.assert_array_equal(queue.get(timeout=60), expected[:100])
    child.join()


def test_what_goes_wrong_on_a_thread_is_raised_where_it_was_asked_for(network, rows):
    codes, numbers = rows
    with pytest.raises(IndexError):
        predict(network, codes + 1000, numbers, CPU)
