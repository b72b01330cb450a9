import pytest

from babelray.glossary.codes import find_codes, lost_codes


@pytest.mark.parametrize(
    ("text", "codes"),
    [
        ("See ERR_1205 and v2.1.0", ["ERR_1205", "v2.1.0"]),
        # An escaped break is no letter of the word behind it.
        (r"Saved\nBackup of max_retries", ["max_retries"]),
        (r"x\nERR_1205\tv2.1.0\r\nmaxRetries", ["ERR_1205", "v2.1.0", "maxRetries"]),
        # A path keeps its own.
        (r"Open C:\new\nodes and go\nBack", [r"C:\new\nodes"]),
        (r"see C:\temp\new.txt", [r"C:\temp\new.txt"]),
        ("the UN said so", []),
    ],
)
def test_codes_of_a_string(text, codes):
    assert [text[start:end] for start, end in find_codes(text, (), ())] == codes


def test_a_translated_word_behind_an_escaped_break_is_no_lost_code():
    assert lost_codes(r"Saved\nBackup", r"Guardado\nCopia", (), ()) == ()
    assert lost_codes(r"Saved\nmax_retries", r"Guardado\nCopia", (), ()) == ("max_retries",)
