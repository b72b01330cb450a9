import shutil
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from babelray.config import CommandTranslatorSettings
from babelray.errors import ConfigError, UpstreamError
from babelray.glossary.marks import mask, unmask
from babelray.protocols import Translator
from models.translators.apertium import from_stream, to_stream, without_unknown_marks
from models.translators.command import CommandTranslator

UPPER = "import sys\nfor line in sys.stdin: print(line.strip().upper())"


def command(code, **more):
    values = {"name": "test", "pairs": ("en>es",), "version": "1", "timeout_seconds": 10.0, "retries": 0, **more}
    return CommandTranslatorSettings(kind="command", command=(sys.executable, "-c", code), **values)


def translated(settings, texts):
    return CommandTranslator(settings, pause=lambda _: None).translate(texts, "en", "es", tenant_id="t")


def test_one_line_a_text_and_blank_texts_are_not_sent():
    texts = ["one", "", "two\nlines\u2028and\ttabs", "  ", "\0"]
    assert translated(command(UPPER), texts) == ["ONE", "", "TWO LINES AND TABS", "", ""]
    assert translated(command("raise SystemExit(1)"), ["", " "]) == ["", ""]


def test_it_is_a_translator_with_its_pairs():
    made = CommandTranslator(command(UPPER, pairs=("en>es", "pt-BR>es")))
    assert isinstance(made, Translator)
    assert made.pairs() == {("en", "es"), ("pt-BR", "es")}
    assert made.knows("en-GB", "es-MX") and made.knows("pt-BR", "es")
    assert not made.knows("es", "en") and not made.knows("pt", "es")
    assert not made.external and CommandTranslator(command(UPPER, data_boundary="external")).external


@pytest.mark.parametrize(
    ("code", "got"),
    [
        ("print('one')\nprint('two')\nprint('three')", "3 lines for 2"),
        ("import sys; sys.stdout.buffer.write(b'\\xff\\n\\xff\\n')", "decode"),
        ("import sys; sys.stderr.write('no such mode'); sys.exit(1)", "no such mode"),
        ("import time; time.sleep(60)", "more than 0.5 seconds"),
    ],
)
def test_what_goes_wrong_is_an_upstream_error(code, got):
    with pytest.raises(UpstreamError) as caught:
        translated(command(code, timeout_seconds=0.5 if "sleep" in code else 10.0), ["a", "b"])
    assert got in str(caught.value)


def test_a_program_that_fails_once_is_asked_again(tmp_path):
    code = (
        "import pathlib, sys\n"
        f"flag = pathlib.Path({str(tmp_path / 'flag')!r})\n"
        "if not flag.exists():\n    flag.touch(); sys.exit(1)\n"
        "print(sys.stdin.read().strip() + '!')\n"
    )
    waits = []
    made = CommandTranslator(command(code, retries=1), pause=waits.append)
    assert made.translate(["a"], "en", "es", tenant_id="t") == ["a!"]
    assert len(waits) == 1 and waits[0] <= 0.25


def test_the_version_is_asked_of_the_program_and_tells_commands_apart():
    asked = (sys.executable, "-c", "print('engine 3.8\\ndata 1.1')")
    made = CommandTranslator(command(UPPER, version="", version_command=asked))
    assert made.version.startswith("engine 3.8 data 1.1 ")
    python = CommandTranslator(CommandTranslatorSettings(
        kind="command", name="p", command=(sys.executable,), pairs=("en>es",)
    ))  # fmt: skip
    assert python.version.startswith(f"Python {sys.version.split()[0]} ")
    versions = {CommandTranslator(command(code)).version for code in (UPPER, UPPER + " ", "pass")}
    assert len(versions) == 3


def test_a_program_that_is_missing_or_says_no_version_is_a_config_error():
    missing = CommandTranslatorSettings(kind="command", name="x", command=("no-such-program",), pairs=("en>es",))
    with pytest.raises(ConfigError, match="no such program"):
        CommandTranslator(missing)
    with pytest.raises(ConfigError, match="does not say its version"):
        CommandTranslator(command(UPPER, version="", version_command=(sys.executable, "-c", "raise SystemExit(2)")))


@pytest.mark.parametrize(
    ("output", "source", "clean"),
    [
        ("*XQ0Z no es @lemma #forma", "XQ0Z is not lemma form", "XQ0Z no es lemma forma"),
        ("¿*foo?", "foo?", "¿foo?"),
        ("a*b user@host C#", "a*b user@host C#", "a*b user@host C#"),
        ("muy *importante*", "very *important*", "muy *importante*"),
        ("*kubectl y *importante*", "kubectl and *important*", "kubectl y *importante*"),
        ("vea #12 *foo", "see #12 foo", "vea #12 foo"),
        ("* @x #*y llanura", "* @x #y plain", "* @x #y llanura"),
        ("", "a", ""),
    ],
)
def test_signs_before_unknown_words_are_taken_off(output, source, clean):
    assert without_unknown_marks(output, source, "*@#") == clean
    assert without_unknown_marks(output, source, "") == output


@given(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0")))
def test_the_stream_format_carries_any_text(text):
    stream = to_stream(text)
    assert b"\0" not in stream
    assert from_stream(stream) == text.strip()


def apertium(mode, pair, *, kept_open):
    stream = ("bash", "-c", f'exec bash <(apertium-wblank-mode -z "/usr/share/apertium/modes/{mode}.mode") -n')
    return CommandTranslatorSettings(
        kind="command",
        name=mode,
        command=stream if kept_open else ("apertium", "-n", "-u", mode),
        exchange="apertium-stream" if kept_open else "lines",
        version_command=("apertium", "-V"),
        pairs=(pair,),
        timeout_seconds=60,
    )


needs_apertium = pytest.mark.skipif(
    shutil.which("apertium") is None, reason="needs the packages apertium, apertium-eng-spa and apertium-es-pt"
)


@pytest.mark.services
@needs_apertium
@pytest.mark.parametrize("kept_open", [False, True])
def test_apertium_translates_and_brings_marks_back(kept_open):
    made = CommandTranslator(apertium("eng-spa", "en>es", kept_open=kept_open))
    text = "How do I restart the server when index.max_fields fails with [E_1] {x} <b> ^a$ /p \\ @z?"
    masked = mask(text, kept=[(text.index("index"), text.index(" fails")), (text.index("[E"), text.index(" {x"))])
    red, marked, empty = made.translate(["The red house", masked.text, ""], "en", "es", tenant_id="t")
    assert red.lower() == "la casa roja"
    back = unmask(marked, masked)
    assert (back.damaged, back.invented, back.in_order) == ((), (), True)
    assert "servidor" in back.text and "index.max_fields" in back.text and "[E_1]" in back.text
    assert empty == ""
    made.close()


@pytest.mark.services
@needs_apertium
def test_apertium_kept_open_says_what_it_says_when_started_for_each_call():
    texts = [
        "The server is not supported",
        "Delete 30 files before 2026-08-06, please!",
        "* odd @text #3 a\\b [x]",
        "?",
    ]
    once = CommandTranslator(apertium("eng-spa", "en>es", kept_open=False))
    stays = CommandTranslator(apertium("eng-spa", "en>es", kept_open=True))
    for text in texts:
        assert stays.translate([text], "en", "es", tenant_id="t") == once.translate([text], "en", "es", tenant_id="t")
    assert stays.translate(texts, "en", "es", tenant_id="t") == [
        stays.translate([text], "en", "es", tenant_id="t")[0] for text in texts
    ]
    stays.close()
