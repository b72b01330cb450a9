"""Sequence-to-sequence checkpoints of some kilobytes that really translate: trained here in seconds, word by word."""

import itertools

import torch
from tokenizers import Tokenizer, models, pre_tokenizers, processors
from transformers import (
    M2M100Config,
    M2M100ForConditionalGeneration,
    MarianConfig,
    MarianMTModel,
    NllbTokenizer,
    PreTrainedTokenizerFast,
)

ENGLISH = ["red", "blue", "house", "server"]
SPANISH = ["rojo", "azul", "casa", "servidor"]
PORTUGUESE = ["vermelho", "azulado", "lar", "maquina"]
MARKS = ["XQ0Z", "XQ1Z"]
_PAD, _EOS = 0, 1


def save_marian(folder):
    """English to Spanish or Portuguese, whichever `>>es<<` or `>>pt<<` before the text says."""
    words = ["<pad>", "</s>", "<unk>", ">>es<<", ">>pt<<", *MARKS, *ENGLISH, *SPANISH, *PORTUGUESE]
    number = {word: position for position, word in enumerate(words)}
    backend = Tokenizer(models.WordLevel(number, unk_token="<unk>"))
    backend.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    backend.post_processor = processors.TemplateProcessing(single="$A </s>", special_tokens=[("</s>", _EOS)])
    PreTrainedTokenizerFast(
        tokenizer_object=backend, pad_token="<pad>", eos_token="</s>", unk_token="<unk>", model_max_length=24
    ).save_pretrained(folder)
    sizes = _sizes(len(words)) | {"forced_eos_token_id": None}
    model = MarianMTModel(MarianConfig(**sizes, decoder_vocab_size=len(words)))
    tables = {
        language: {
            number[left]: number[right] for left, right in zip([*ENGLISH, *MARKS], [*other, *MARKS], strict=True)
        }
        for language, other in ((">>es<<", SPANISH), (">>pt<<", PORTUGUESE))
    }
    pairs = []
    for language, table in tables.items():
        for length in (1, 2, 3):
            for text in itertools.product(table, repeat=length):
                pairs.append(([number[language], *text, _EOS], [*(table[word] for word in text), _EOS]))
    _train(model, pairs, _PAD, 150)
    model.save_pretrained(folder)


def save_nllb(folder):
    """Letters a, b, c of English to k, l, m of German or x, y, z of French, told by NLLB's language codes."""
    letters = "abcklmxyz"
    vocabulary = {"<s>": 0, "<pad>": 1, "</s>": 2, "<unk>": 3, "\u2581": 4} | {c: 5 + i for i, c in enumerate(letters)}
    tokenizer = NllbTokenizer(vocab=vocabulary, merges=[], src_lang="eng_Latn", tgt_lang="deu_Latn")
    tokenizer.save_pretrained(folder)
    sizes = _sizes(len(tokenizer)) | {"pad_token_id": 1, "eos_token_id": 2, "decoder_start_token_id": 2}
    model = M2M100ForConditionalGeneration(M2M100Config(**sizes))
    english, pairs = tokenizer.convert_tokens_to_ids("eng_Latn"), []
    for code, other in (("deu_Latn", "klm"), ("fra_Latn", "xyz")):
        first, table = tokenizer.convert_tokens_to_ids(code), dict(zip("abc", other, strict=True))
        for length in (1, 2, 3):
            for text in itertools.product("abc", repeat=length):
                left = [vocabulary[sign] for char in text for sign in ("\u2581", char)]
                right = [vocabulary[sign] for char in text for sign in ("\u2581", table[char])]
                pairs.append(([english, *left, 2], [first, *right, 2]))
    _train(model, pairs, 1, 250)
    model.save_pretrained(folder)


def _sizes(words):
    return {
        "vocab_size": words, "d_model": 32, "encoder_layers": 1, "decoder_layers": 1, "encoder_attention_heads": 4,
        "decoder_attention_heads": 4, "encoder_ffn_dim": 64, "decoder_ffn_dim": 64, "max_position_embeddings": 32,
        "dropout": 0.0, "attention_dropout": 0.0, "activation_dropout": 0.0, "pad_token_id": _PAD,
        "eos_token_id": _EOS, "decoder_start_token_id": _PAD, "scale_embedding": False,
    }  # fmt: skip


def _train(model, pairs, padding, steps):
    torch.manual_seed(0)
    for name, parameter in model.named_parameters():
        if parameter.dim() > 1 and parameter.requires_grad and "position" not in name:
            torch.nn.init.normal_(parameter, std=0.15)
    left = _padded([source for source, _ in pairs], padding)
    labels = _padded([target for _, target in pairs], -100)
    trained = torch.optim.AdamW([one for one in model.parameters() if one.requires_grad], lr=6e-3)
    model.train()
    for _ in range(steps):
        batch = torch.randint(len(pairs), (64,))
        loss = model(input_ids=left[batch], attention_mask=(left[batch] != padding).long(), labels=labels[batch]).loss
        trained.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        trained.step()
    model.eval()


def _padded(rows, value):
    longest = max(len(row) for row in rows)
    return torch.tensor([row + [value] * (longest - len(row)) for row in rows])
