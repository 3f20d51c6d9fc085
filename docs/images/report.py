"""Draw docs/images/report.png, the first screen of a report.

Run it as ``python docs/images/report.py``.

Generated sales of 1,115 shops over two and a half years; the last weeks are held back.
"""

import shutil
import tempfile
from pathlib import Path

import numpy as np
from playwright.sync_api import sync_playwright

from catspace import EmbeddingRegressor, make_sales, write_report

ROWS, HELD_BACK = 50_000, 5_000
SIZE = {"width": 1280, "height": 760}


def main(out: Path = Path(__file__).parent / "report.png") -> None:
    """Fit, write the page, and take its picture."""
    sales = make_sales(ROWS, random_state=0, backend="pandas")  # oldest day first
    X, new = sales.X[:-HELD_BACK], sales.X[-HELD_BACK:]
    y, y_new = np.split(sales.y, [ROWS - HELD_BACK])
    model = EmbeddingRegressor(target_transform="log", n_networks=2, random_state=0).fit(X, y)
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as driver:
        page = Path(folder) / "report.html"
        write_report(model, page, X, y, X_val=new, y_val=y_new, target_name="sales")
        path = shutil.which("chromium") or shutil.which("google-chrome")
        browser = driver.chromium.launch(executable_path=path, args=["--no-sandbox"])
        tab = browser.new_page(viewport=SIZE, device_scale_factor=1.5)
        tab.goto(page.as_uri())
        tab.locator("#quality .main-svg").first.wait_for()
        tab.screenshot(path=out)
        browser.close()


if __name__ == "__main__":
    main()
