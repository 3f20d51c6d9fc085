"""
Classes, and probabilities that can be trusted
==============================================

``EmbeddingClassifier`` gives a probability for each class. Of the rows that it gives 30 %, three
in ten should be of that class: does it hold?
"""

# %%
# Will a customer come back?
# --------------------------
# A table with two columns of categories, one of them with many values, and a number.
import numpy as np
import pandas as pd
from matplotlib import pyplot as plt
from sklearn.calibration import calibration_curve
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split

from catspace import EmbeddingClassifier

random = np.random.default_rng(0)
n, n_products = 10_000, 200
product = random.zipf(1.3, size=n) % n_products
country = random.choice(["AT", "CH", "DE", "FR", "IT"], size=n, p=[0.1, 0.1, 0.5, 0.2, 0.1])
price = random.gamma(2, 20, size=n)
taste = random.normal(size=n_products)[product]
habit = pd.Series(country).map({"AT": 0.2, "CH": 0.5, "DE": 0.0, "FR": -0.6, "IT": -0.2})
logit = taste + habit.to_numpy() * (1 + taste) - 0.01 * (price - 40) - 0.5
came_back = np.where(random.random(n) < 1 / (1 + np.exp(-logit)), "yes", "no")
X = pd.DataFrame({"product": [f"P{p:03d}" for p in product], "country": country, "price": price})
X_train, X_test, y_train, y_test = train_test_split(X, came_back, random_state=0)

# %%
# Text labels are fine, and so are more than two of them.
model = EmbeddingClassifier(n_networks=2, random_state=0).fit(X_train, y_train)
probability = model.predict_proba(X_test)[:, list(model.classes_).index("yes")]
share = np.full(len(y_test), (y_train == "yes").mean())
print(f"log loss: {log_loss(y_test, probability):.4f}, of a constant {log_loss(y_test, share):.4f}")

# %%
# Promised and kept
# -----------------
# Each point is a tenth of the test rows.
true, given = calibration_curve(y_test == "yes", probability, n_bins=10, strategy="quantile")
fig, ax = plt.subplots(figsize=(4.5, 4.5), layout="constrained")
ax.plot([0, 1], [0, 1], color="0.7", linewidth=1, label="what was promised is kept")
ax.plot(given, true, "o-", color="#0072b2", label="catspace")
ax.set(xlabel="probability that was given", ylabel="share that came back", aspect="equal")
ax.spines[["top", "right"]].set_visible(False)
ax.legend(frameon=False)
plt.show()

# %%
# A product that was never seen, and one that is not known, get an answer too: what is known
# without it.
new = pd.DataFrame({"product": ["P999", None], "country": ["DE", "DE"], "price": [40.0, 40.0]})
pd.DataFrame(model.predict_proba(new), columns=model.classes_, index=["unseen", "missing"]).round(3)
