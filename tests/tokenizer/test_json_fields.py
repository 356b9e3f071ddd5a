"""Reading a user's JSON: what is wrong with it, in a sentence that fits on a screen."""

import pytest

from groundup.errors import TokenizerError
from groundup.tokenizer.json_fields import field, naming, read_object


def test_a_number_that_python_does_not_read_is_an_error_of_ours(tmp_path):
    (tmp_path / "t.json").write_text('{"id": ' + "9" * 5000 + "}")
    with pytest.raises(TokenizerError, match=r"t\.json: it holds a number of thousands of digits"), naming("t.json"):
        read_object(tmp_path / "t.json")


def test_a_name_given_twice_is_named(tmp_path):
    (tmp_path / "t.json").write_text('{"a": 1, "a": 2}')
    with pytest.raises(TokenizerError, match="the name 'a' stands in it twice"):
        read_object(tmp_path / "t.json")


def test_what_an_error_shows_is_cut_short():
    with pytest.raises(TokenizerError) as caught, naming("t.json"):
        field({"x" * 10**6: 1}, "model", dict)
    message = str(caught.value)
    assert message.startswith("t.json: the field 'model' is missing; the fields are 'xxx")
    assert message.endswith("x ... (1000047 characters)") and len(message) < 1100
