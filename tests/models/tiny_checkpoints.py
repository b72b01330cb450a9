"""Checkpoints of a few kilobytes with random weights, saved as users save theirs."""

import torch
from tokenizers import Tokenizer, models, pre_tokenizers, processors
from transformers import (
    BertConfig,
    BertForSequenceClassification,
    BertModel,
    LlamaConfig,
    LlamaModel,
    PreTrainedTokenizerFast,
    XLMRobertaConfig,
    XLMRobertaForSequenceClassification,
    XLMRobertaModel,
)

WORDS = [f"w{number}" for number in range(90)]
SPECIAL = ["<pad>", "<s>", "</s>", "<unk>"]


def save_tokenizer(folder, padding_side="right", decoder=False):
    vocabulary = {word: number for number, word in enumerate([*SPECIAL, *WORDS])}
    backend = Tokenizer(models.WordLevel(vocabulary, unk_token="<unk>"))
    backend.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    single = "$A </s>" if decoder else "<s> $A </s>"
    backend.post_processor = processors.TemplateProcessing(
        single=single, pair="<s> $A </s> $B:1 </s>:1", special_tokens=[("<s>", 1), ("</s>", 2)]
    )
    PreTrainedTokenizerFast(
        tokenizer_object=backend,
        pad_token="<pad>",
        bos_token="<s>",
        eos_token="</s>",
        unk_token="<unk>",
        padding_side=padding_side,
    ).save_pretrained(folder)


def _sizes(**more):
    return dict(
        vocab_size=len(SPECIAL) + len(WORDS),
        hidden_size=16,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=24,
        **more,
    )


def save_bert(folder, seed=0, hidden_act="gelu"):
    torch.manual_seed(seed)
    config = BertConfig(
        **_sizes(max_position_embeddings=32, pad_token_id=0, initializer_range=0.5, hidden_act=hidden_act)
    )
    BertModel(config).save_pretrained(folder)
    save_tokenizer(folder)


def save_xlm_roberta(folder):
    torch.manual_seed(0)
    config = XLMRobertaConfig(**_sizes(max_position_embeddings=34, pad_token_id=0, initializer_range=0.5))
    XLMRobertaModel(config).save_pretrained(folder)
    save_tokenizer(folder)


def save_decoder(folder, padding_side):
    torch.manual_seed(0)
    config = LlamaConfig(
        **_sizes(num_key_value_heads=1, max_position_embeddings=64, pad_token_id=0, initializer_range=0.5)
    )
    LlamaModel(config).save_pretrained(folder)
    save_tokenizer(folder, padding_side, decoder=True)


def save_bert_classifier(folder, labels=1, seed=0):
    """A cross-encoder."""
    torch.manual_seed(seed)
    config = BertConfig(**_sizes(max_position_embeddings=32, pad_token_id=0, initializer_range=0.5, num_labels=labels))
    BertForSequenceClassification(config).save_pretrained(folder)
    save_tokenizer(folder)


def save_xlm_roberta_classifier(folder, labels=1):
    """A cross-encoder that does not tell the sides of a pair."""
    torch.manual_seed(0)
    sizes = _sizes(max_position_embeddings=34, type_vocab_size=1, pad_token_id=0, initializer_range=0.5)
    XLMRobertaForSequenceClassification(XLMRobertaConfig(**sizes, num_labels=labels)).save_pretrained(folder)
    save_tokenizer(folder)
