"""Files of vectors in word2vec's text."""

import numpy as np
import pytest

from catspace.exceptions import InputError
from catspace.storage.word2vec import read_word2vec, write_word2vec


def test_what_is_written_is_read_again(tmp_path):
    vectors = np.random.default_rng(0).normal(size=(4, 3)).astype(np.float32)
    write_word2vec(tmp_path / "v.txt", ["a", "New York", 12, ""], vectors)
    words, found = read_word2vec(tmp_path / "v.txt")
    assert words == ["a", "New_York", "12", "_"]
    np.testing.assert_array_equal(found, vectors)


def test_spaces_at_the_ends_of_lines_and_lines_of_windows_are_read(tmp_path):
    (tmp_path / "v.txt").write_bytes(b"2 2\r\na 1 2 \r\nb 3 4 \r\n\r\n")
    words, found = read_word2vec(tmp_path / "v.txt")
    assert words == ["a", "b"]
    assert found.tolist() == [[1, 2], [3, 4]]


def test_a_word_may_hold_what_python_takes_for_the_end_of_a_line(tmp_path):
    (tmp_path / "v.txt").write_text("2 1\na\u2028b 1\nc\x85 2\n", encoding="utf-8")
    assert read_word2vec(tmp_path / "v.txt")[0] == ["a\u2028b", "c\x85"]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "its first line is ''"),
        (b"a 1 2\nb 3 4\n", "its first line is 'a 1 2'"),
        (b"0 2\n", "its first line is '0 2'"),
        (b"-2 2\na 1 2\n", "its first line is '-2 2'"),
        (b"2 2\na 1 2\n", "it has 1 words instead of 2"),
        (b"1 2\na 1 2\nb 3 4\n", "it has 2 words instead of 1"),
        (b"2 2\na 1 2\nb 3\n", "line 3 has 1 numbers instead of 2"),
        (b"2 2\na 1 2\nb c 3 4\n", "line 3 has 3 numbers instead of 2"),
        (b"2 2\na 1 2\nb 3 x\n", "line 3 holds something else than numbers"),
        (b"2 2\na 1 2\nb 3 \xff\n", "it is not UTF-8"),
        (b"99999999999 99999\na 1 2\n", "it has no room for 99999999999 words"),
    ],
)
def test_a_damaged_file_is_a_sentence(tmp_path, content, said):
    (tmp_path / "v.txt").write_bytes(content)
    with pytest.raises(InputError, match="is no file of vectors in word2vec's text: ") as error:
        read_word2vec(tmp_path / "v.txt")
    assert said in str(error.value)
    assert "Hint: its first line is" in str(error.value)


def test_a_file_that_is_not_there_is_a_sentence(tmp_path):
    with pytest.raises(InputError, match=r"v\.txt' cannot be read: No such file"):
        read_word2vec(tmp_path / "v.txt")
