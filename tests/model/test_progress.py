import io
import sys
from types import SimpleNamespace

from rich.console import Console

from catspace import EmbeddingRegressor
from catspace.model.progress import TrainingProgress
from catspace.model.turns import Epoch


def show(*, verbose, is_terminal, n_epochs=40):
    output = io.StringIO()
    console = Console(file=output, force_terminal=is_terminal, width=120)
    with TrainingProgress(2, verbose, console) as progress:
        for number in range(1, n_epochs + 1):
            progress(Epoch(1, number, 1 / number, 2 / number, 0.01, float(number), n_epochs))
    return output.getvalue()


def test_nothing_is_shown_at_verbose_zero():
    assert show(verbose=0, is_terminal=True) == ""
    assert show(verbose=0, is_terminal=False) == ""


def test_a_log_file_gets_a_few_plain_lines():
    lines = show(verbose=1, is_terminal=False).splitlines()
    assert len(lines) == 11
    assert lines[1] == (
        "network 2 of 2: epoch 4/40, loss 0.2500, validation 0.5000, 4.0 s, 36 s left"
    )
    assert "\x1b" not in "".join(lines)


def test_those_who_watch_are_told_what_goes_on_before_the_first_epoch(capsys):
    X = {"shop": [f"shop {i % 40}" for i in range(2_000)]}
    y = [float(i % 40) for i in range(2_000)]
    EmbeddingRegressor(max_epochs=1, verbose=1, random_state=0).fit(X, y)
    first, *others = capsys.readouterr().err.splitlines()
    assert first == "Finding the smoothing with small networks."
    assert others[0].startswith("network: epoch 1/1, loss")
    EmbeddingRegressor(max_epochs=1, verbose=1, smooth=4, random_state=0).fit(X, y)
    assert capsys.readouterr().err.startswith("network: epoch 1/1, loss")


def test_a_terminal_gets_bars_with_losses():
    text = show(verbose=1, is_terminal=True)
    assert "40/40" in text
    assert "loss 0.0250, validation 0.0500" in text


def test_a_notebook_gets_bars_without_widgets_or_warnings(monkeypatch):
    shown = []

    class Handle:
        def update(self, bundle, raw):
            shown.append(bundle["text/html"])

    def display(bundle, raw, display_id):
        shown.append(bundle["text/html"])
        return Handle()

    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace())
    monkeypatch.setitem(sys.modules, "IPython.display", SimpleNamespace(display=display))
    output = io.StringIO()
    console = Console(file=output, force_jupyter=True, force_terminal=False)
    with TrainingProgress(2, 1, console) as progress:
        for number in range(1, 41):
            progress(Epoch(1, number, 1 / number, None, 0.01, float(number), 40))
    assert output.getvalue() == ""
    assert "40/40" not in shown[0]
    assert "network 2 of 2" in shown[-1]
    assert "40/40, loss 0.0250, 40.0 s, 0 s left" in shown[-1]
    assert "width:100%" in shown[-1]
