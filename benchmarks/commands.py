"""How long the command line and the report take; `make bench` prints it.

Times are of this machine; what can be compared is said as a ratio or beside its limit.
"""

import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pandas as pd

from catspace import EmbeddingRegressor, make_sales, write_report

PREDICT_ROWS = (100_000, 1_000_000)
REPEATS = 5


def run(*arguments):
    """Run the command; return seconds and the most memory it held, in MB."""
    command = [
        sys.executable,
        "-c",
        "from catspace.commands.cli import main; main()",
        *map(str, arguments),
    ]
    start = time.perf_counter()
    child = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(child.pid, 0)
    seconds = time.perf_counter() - start
    if status != 0:
        raise RuntimeError(f"catspace {' '.join(map(str, arguments))} failed")
    return seconds, usage.ru_maxrss / 1024


def time_help():
    seconds = [run("--help")[0] for _ in range(REPEATS)]
    print(f"catspace --help: {statistics.median(seconds):.2f} s (slowest {max(seconds):.2f})")


def time_predict(folder, model):
    print("catspace predict, one network, 7 categorical columns:")
    for n_rows in PREDICT_ROWS:
        source, out = folder / f"{n_rows}.csv", folder / "predicted.csv"
        sales = make_sales(n_rows, n_stores=1300, random_state=1, backend="pandas")
        sales.X.to_csv(source, index=False)
        measured = [run("predict", model, source, "-o", out) for _ in range(3)]
        seconds, memory = min(measured)
        print(
            f"  {n_rows:9,} rows: {seconds:.1f} s with the start, "
            f"{n_rows / seconds:,.0f} rows a second, {memory:,.0f} MB"
        )


def time_report(folder):
    sales = make_sales(200_000, n_stores=1115, random_state=0, backend="pandas")
    model = EmbeddingRegressor(target_transform="log", n_networks=5, max_epochs=2, random_state=0)
    model.fit(sales.X, sales.y)
    path = folder / "report.html"
    start = time.perf_counter()
    write_report(model, path, sales.X, sales.y, target_name="sales")
    seconds = time.perf_counter() - start
    print(
        f"report of 1,115 stores, 200,000 rows and 5 networks: {seconds:.1f} s, "
        f"{path.stat().st_size / 1e6:.1f} MB"
    )
    time_page(path, "store")
    ids = pd.DataFrame({"id": [f"customer {i}" for i in range(10_000)] * 3})
    many = EmbeddingRegressor(embedding_dim=8, max_epochs=1, random_state=0)
    many.fit(ids, ids.index.to_numpy() % 1_000)
    write_report(many, path)
    time_page(path, "id")


def time_page(path, column):
    """Time a page from its opening until its first map answers, and a frame while it is moved."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as driver:
        flags = ["--no-sandbox", "--disable-background-networking", "--enable-unsafe-swiftshader"]
        browser = driver.chromium.launch(executable_path="/usr/bin/chromium", args=flags)
        opened, drawn = [], []
        for _ in range(REPEATS):
            page = browser.new_page(viewport={"width": 1280, "height": 900})
            start = time.perf_counter()
            page.goto(path.as_uri(), wait_until="commit")
            page.locator("input[type=search]").first.wait_for()
            opened.append(time.perf_counter() - start)
            page.locator(".main-svg").first.wait_for()
            drawn.append(time.perf_counter() - start)
        section = page.locator("section", has=page.get_by_role("heading", level=2, name=column))
        section.locator(".map").first.scroll_into_view_if_needed()
        area = section.locator(".map .nsewdrag").first.bounding_box()
        page.evaluate(
            "window.frames_ = []; (function tick() { frames_.push(performance.now());"
            " requestAnimationFrame(tick); })()"
        )
        middle = [area["x"] + area["width"] / 2, area["y"] + area["height"] / 2]
        page.mouse.move(*middle)
        page.mouse.down()
        for step in range(40):
            page.mouse.move(middle[0] + 3 * step, middle[1] + step)
        page.mouse.up()
        gaps = page.evaluate("frames_.slice(1).map((t, i) => t - frames_[i])")
        browser.close()
    print(
        f"  page with {column}: can be searched after {statistics.median(opened):.2f} s, the first "
        f"plot is there after {statistics.median(drawn):.2f} s (slowest {max(drawn):.2f});\n"
        f"    moving the map, a frame takes {statistics.median(gaps):.0f} ms "
        f"(slowest of {len(gaps)}: {max(gaps):.0f} ms; no graphics card)"
    )


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        sales = make_sales(50_000, n_stores=1300, random_state=0, backend="pandas")
        model = EmbeddingRegressor(target_transform="log", max_epochs=1, random_state=0)
        # As integers: that is how they stand in a CSV.
        X = sales.X.astype({name: int for name in sales.X.columns if name != "state"})
        model.set_params(categorical_features=list(X.columns)).fit(X, sales.y)
        model.save(folder / "sales.catspace")
        time_help()
        time_predict(folder, folder / "sales.catspace")
        time_report(folder)


if __name__ == "__main__":
    main()
