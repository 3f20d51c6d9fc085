"""Settings that must stand before anything is imported."""

import os

# scikit-learn's check of array API input skips itself without this.
os.environ.setdefault("SCIPY_ARRAY_API", "1")
# Two workers on two cores: libraries that start a thread for each core in each of them would wait
# for each other most of the time.
os.environ.setdefault("OMP_NUM_THREADS", "1")
