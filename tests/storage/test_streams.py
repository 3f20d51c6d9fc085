"""Compressed files are read wherever CSV files are, and files with any name."""

import bz2
import gzip
import os

import pandas as pd
import pyarrow as pa
import pytest

import catspace
from catspace.exceptions import InputError
from catspace.storage.files import find_files, read_file
from catspace.storage.sinks import write_table

TEXT = "town;y\nKöln;1,5\nBonn;2\n" * 1


def zstandard(content):
    sink = pa.BufferOutputStream()
    with pa.CompressedOutputStream(sink, "zstd") as file:
        file.write(content)
    return sink.getvalue().to_pybytes()


@pytest.mark.parametrize(
    ("name", "pack"),
    [
        ("t.csv.gz", gzip.compress),
        ("t.CSV.GZ", gzip.compress),
        ("t.csv", gzip.compress),  # as some servers send it
        ("t.csv.bz2", bz2.compress),
        ("t.csv.zst", zstandard),
        ("t.csv.gz", bytes),  # which is not compressed at all
    ],
)
@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_a_compressed_file_reads_like_the_file_inside(tmp_path, name, pack, encoding):
    (tmp_path / "plain.csv").write_text(TEXT, encoding=encoding)
    (tmp_path / name).write_bytes(pack(TEXT.encode(encoding)))
    assert read_file(tmp_path / name).equals(read_file(tmp_path / "plain.csv"))
    assert read_file(tmp_path / name)["town"].to_pylist() == ["Köln", "Bonn"]


def test_a_folder_and_a_pattern_find_compressed_files(tmp_path):
    for name in ("a.csv.gz", "b.tsv.GZ", "c.json.gz", "d.gz"):
        (tmp_path / name).write_bytes(b"")
    assert [path.name for path in find_files(tmp_path)] == ["a.csv.gz", "b.tsv.GZ"]
    assert [path.name for path in find_files(tmp_path / "*.csv.gz")] == ["a.csv.gz"]


def test_a_model_fits_and_predicts_from_a_compressed_file(tmp_path):
    lines = ["town,size,y", *(f"{'abc'[i % 3]},{i % 7},{i % 3 + i % 7}" for i in range(90))]
    content = ("\n".join(lines) + "\n").encode()
    (tmp_path / "t.csv").write_bytes(content)
    (tmp_path / "t.csv.gz").write_bytes(gzip.compress(content))
    models = [
        catspace.EmbeddingRegressor(max_epochs=2, random_state=0).fit(tmp_path / name, "y")
        for name in ("t.csv", "t.csv.gz")
    ]
    one, other = (model.predict(tmp_path / "t.csv.gz") for model in models)
    assert one.tolist() == other.tolist() == models[0].predict(tmp_path / "t.csv").tolist()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (gzip.compress(TEXT.encode() * 9)[:-9], r"t.csv.gz' cannot be read: Truncated compressed"),
        (gzip.compress(TEXT.encode())[:-8] + bytes(8), r"t.csv.gz' cannot be read: .*data check"),
        (b"PK\x03\x04 and so on", r"t.csv.gz' is a ZIP archive or an Excel workbook; unpack it"),
        (b"PAR1 and so on", r"t.csv.gz' is a Parquet file; its name must end in .parquet"),
        (b"\xfd7zXZ\x00", r"t.csv.gz' is compressed by xz; unpack it first"),
    ],
    ids=["cut short", "damaged", "zip", "parquet", "xz"],
)
def test_a_file_that_cannot_be_unpacked_is_a_sentence(tmp_path, content, message):
    (tmp_path / "t.csv.gz").write_bytes(content)
    with pytest.raises(InputError, match=message):
        read_file(tmp_path / "t.csv.gz")


def test_a_table_is_written_compressed_where_its_name_says_so(tmp_path):
    table = pa.table({"town": ["a", "b"], "y": [1, 2]})
    write_table(table, tmp_path / "t.csv.gz")
    write_table(table, tmp_path / "t.csv")
    assert (
        gzip.decompress((tmp_path / "t.csv.gz").read_bytes()) == (tmp_path / "t.csv").read_bytes()
    )
    assert read_file(tmp_path / "t.csv.gz").equals(table)


@pytest.mark.skipif(os.name == "nt", reason="names are text there")
@pytest.mark.parametrize("ending", [".csv", ".parquet"])
def test_a_name_that_is_not_utf_8_is_a_name(tmp_path, ending):
    path = tmp_path / f"caf\udce9{ending}"
    frame = pd.DataFrame({"town": ["a", "b"], "y": [1, 2]})
    try:
        with path.open("wb") as file:
            frame.to_csv(file, index=False) if ending == ".csv" else frame.to_parquet(file)
    except OSError:
        pytest.skip("this file system takes UTF-8 only")
    assert read_file(path)["town"].to_pylist() == ["a", "b"]
    write_table(read_file(path), tmp_path / f"\udce9{ending}")
    assert read_file(tmp_path / f"\udce9{ending}").equals(read_file(path))
