import pytest

from catspace.paper import map as map_of_states


def test_the_map_is_looked_for_by_every_network_of_every_training(ask, tmp_path):
    records = ask("map")
    assert len(records) == 2 * len(map_of_states.TRAININGS)
    for record in records:
        assert 0 <= record["score"] <= 1
        assert 0 < record["p_value"] <= 1
        assert record["spread"] > 0
    text = (tmp_path / "map.md").read_text()
    assert "| catspace's defaults | 2 |" in text
    assert "Data: GENERATED (make_sales); 2,000 rows to learn from; seed 0." in text
    assert text in (tmp_path / "printed.txt").read_text()  # no row is broken to fit the console


def test_the_map_is_summed_up_over_networks():
    records = [
        {"training": "a", "score": score, "p_value": p, "spread": 0.5}
        for score, p in [(0.2, 0.5), (0.4, 0.04), (0.9, 0.01)]
    ]
    row = map_of_states.summarise_map(records).iloc[0]
    assert row["score"] == pytest.approx(0.5)
    assert (row["worst"], row["best"], row["median_p"]) == (0.2, 0.9, 0.04)
    assert row["significant"] == 2
