"""Settings that must stand before anything is imported."""

import os

# scikit-learn's check of array API input skips itself without this.
os.environ.setdefault("SCIPY_ARRAY_API", "1")
