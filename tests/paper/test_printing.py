import pandas as pd

from catspace.paper.printing import comma_separated, frame_table, markdown


def test_markdown_puts_the_papers_number_beside_ours(make_record):
    text = markdown([make_record(), make_record(encoding="ee", mape=0.11, paper_mape=0.116)])
    assert "### By time: the latest 10 % of the rows are for testing" in text
    assert "| KNN | 0.2876 | 0.290 | 0.1100 | 0.116 | 0.4000 | 0.4000 | 1 / 2 | 1 / 2 |" in text
    assert "The real Rossmann data; 200,000 rows to learn from, 84,434 to test; seed 0." in text


def test_every_table_of_generated_data_says_so(make_record):
    records = [make_record(data="generated", split=split) for split in ("shuffled", "time")]
    assert markdown(records).count("GENERATED data (make_sales), not the paper's") == 2


def test_csv_has_a_line_for_each_record(make_record):
    lines = comma_separated(
        [make_record(), make_record(split="shuffled", paper_mape=None)]
    ).splitlines()
    assert lines[0].startswith("data,split,method,encoding,mape,paper_mape,difference")
    assert lines[1].startswith("rossmann,time,knn,raw,0.2876,0.29,-0.0024")
    assert lines[2].startswith("rossmann,shuffled,knn,raw,0.2876,,")


def test_frames_become_markdown():
    frame = pd.DataFrame({"name": ["a|b"], "value": [0.123456], "count": [7]})
    assert frame_table(frame).splitlines() == [
        "| name | value | count |",
        "|---|---|---|",
        "| a\\|b | 0.1235 | 7 |",
    ]
