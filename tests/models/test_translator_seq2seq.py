import logging

import pytest
import torch
from safetensors.torch import load_file, save_file

from babelray.config import Seq2SeqTranslatorSettings
from babelray.errors import ConfigError, IntegrityError
from babelray.protocols import Translator
from models.translators.seq2seq import Seq2SeqTranslator
from tests.models.tiny_checkpoints import save_bert
from tests.models.tiny_translators import save_marian, save_nllb


@pytest.fixture(scope="module")
def marian(tmp_path_factory):
    folder = tmp_path_factory.mktemp("marian")
    save_marian(folder)
    return folder


def settings(folder, **more):
    values = {
        "name": "tiny", "path": folder, "pairs": ("en>es", "en>pt"), "prefix": ">>{target}<< ", "max_new_tokens": 12,
        "device": "cpu", **more,
    }  # fmt: skip
    return Seq2SeqTranslatorSettings(kind="seq2seq", **values)


@pytest.fixture(scope="module")
def translator(marian):
    return Seq2SeqTranslator(settings(marian))


def translate(made, texts, target="es"):
    return made.translate(texts, "en", target, tenant_id="t")


def test_it_translates_with_marks_in_place(translator):
    assert isinstance(translator, Translator)
    assert translate(translator, ["red house", "server", "XQ0Z red XQ1Z"]) == [
        "rojo casa",
        "servidor",
        "XQ0Z rojo XQ1Z",
    ]
    assert translate(translator, []) == []


def test_the_prefix_says_the_target_language(translator):
    assert translate(translator, ["red house"], "pt") == ["vermelho lar"]
    assert translator.knows("en", "pt-BR") and not translator.knows("pt", "en")


def test_batches_and_beams_give_what_single_texts_give(marian, translator):
    texts = ["red", "blue house server", "XQ0Z", "house red", "server server"] * 30
    alone = {text: translate(translator, [text])[0] for text in set(texts)}
    assert translate(translator, texts) == [alone[text] for text in texts]
    assert translate(Seq2SeqTranslator(settings(marian, beams=3)), ["blue house server"]) == ["azul casa servidor"]


def test_what_is_too_long_to_read_or_to_write_is_not_cut(marian, translator, caplog):
    with caplog.at_level(logging.WARNING):
        assert translate(translator, ["red " * 30, "red"]) == [None, "rojo"]
    assert "1 texts have more tokens than the 24" in caplog.text
    short = Seq2SeqTranslator(settings(marian, max_new_tokens=8))
    weights = short._model
    weights.generation_config.eos_token_id = None  # as a model that does not come to an end
    with caplog.at_level(logging.WARNING):
        assert translate(short, ["red house"]) == [None]
    assert "does not end within 8 tokens" in caplog.text


def test_models_that_are_told_languages_by_their_tokenizer(tmp_path):
    save_nllb(tmp_path)
    codes = {"en": "eng_Latn", "de": "deu_Latn", "fr": "fra_Latn"}
    made = Seq2SeqTranslator(settings(tmp_path, pairs=("en>de", "en>fr"), language_codes=codes, prefix=""))
    assert made.translate(["a b", "c", "b a c"], "en-GB", "de", tenant_id="t") == ["k l", "m", "l k m"]
    assert made.translate(["a b", "c"], "en", "fr", tenant_id="t") == ["x y", "z"]
    with pytest.raises(ConfigError, match="no such language code"):
        Seq2SeqTranslator(settings(tmp_path, pairs=("en>de",), prefix=""))


def test_the_version_changes_with_what_shapes_a_translation(marian, translator):
    others = [settings(marian, beams=2), settings(marian, prefix=">>es<< "), settings(marian, max_new_tokens=16)]
    assert len({translator.version, *(Seq2SeqTranslator(one).version for one in others)}) == 4
    assert Seq2SeqTranslator(settings(marian)).version == translator.version


def test_what_cannot_be_used_is_refused(tmp_path, marian):
    with pytest.raises(ConfigError, match="not a checkpoint"):
        Seq2SeqTranslator(settings(tmp_path))
    save_bert(tmp_path / "bert")
    with pytest.raises(ConfigError, match="cannot be loaded"):
        Seq2SeqTranslator(settings(tmp_path / "bert"))
    for path in marian.iterdir():
        (tmp_path / path.name).write_bytes(path.read_bytes())
    weights = load_file(marian / "model.safetensors")
    lost = next(name for name in weights if "fc1.weight" in name)
    save_file(
        {k: v for k, v in weights.items() if k != lost}, tmp_path / "model.safetensors", metadata={"format": "pt"}
    )
    with pytest.raises(IntegrityError, match="fc1"):
        Seq2SeqTranslator(settings(tmp_path))
    (tmp_path / "model.safetensors").unlink()
    torch.save(weights, tmp_path / "pytorch_model.bin")
    with pytest.raises(ConfigError, match="not a checkpoint"):
        Seq2SeqTranslator(settings(tmp_path))
