"""A few cases of every campaign; `benchmarks/trust.py` runs as many as a table deserves."""

import pytest

from tests.campaigns.campaigns import CAMPAIGNS


@pytest.mark.filterwarnings("ignore::catspace.exceptions.CatspaceWarning")
@pytest.mark.parametrize(
    "name",
    [
        # Two clusters at the same time are one too many for most machines.
        pytest.param(name, marks=pytest.mark.cluster if name == "nodes" else ())
        for name in CAMPAIGNS
    ],
)
def test_nothing_is_lost_and_nothing_silent_and_no_error_raw(name, tmp_path):
    campaign = CAMPAIGNS[name]
    outcome = campaign.run(campaign.n_in_tests, seed=0, folder=tmp_path)
    assert outcome.wrong == []
    assert outcome.n_cases == campaign.n_in_tests
