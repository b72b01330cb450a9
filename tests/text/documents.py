"""Documents of literal text and a stand-in for the language policy, for tests of the preparation."""

from babelray.text.blocks import block_text, split_blocks
from babelray.text.language import LanguageVerdict
from babelray.text.scripts import script_distribution
from babelray.text.types import BlockKind, Document


def document(text, media_type="text/markdown", **fields):
    return Document("doc", "page", "rev", text, media_type=media_type, **fields)


def shown_blocks(text, media_type="text/markdown"):
    """Kind and visible text of every block."""
    page = document(text, media_type)
    return [(block.kind.value, block_text(page, block)) for block in split_blocks(page)]


class OneLanguage:
    """Gives every block the same language, code none."""

    version = "one"

    def __init__(self, language="en"):
        self.language = language

    def judge(self, texts, kinds, declared=None):
        return [
            LanguageVerdict(
                "zxx" if kind is BlockKind.CODE else self.language, (), script_distribution(text), False, False
            )
            for text, kind in zip(texts, kinds, strict=True)
        ]
