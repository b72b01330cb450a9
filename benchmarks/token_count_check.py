"""Compare the model-free token counter with the tokenizer of the default model on a folder of documents.

    python benchmarks/token_count_check.py FOLDER [--pages N] [--cache FOLDER]

Prints the ratio (counted / real) by language for runs of blocks of about 150 tokens, the size of a chunk: under 1 means
that a chunk may be longer for the model than its cap says.
"""

import argparse
import random
import sys
from collections import defaultdict
from pathlib import Path

import numpy as np
from tokenizers import Tokenizer

from babelray.config import SourceSettings, TextSettings
from babelray.text.blocks import block_text, split_blocks
from babelray.text.readers import list_parts, read_part
from babelray.text.tokens import count_tokens
from babelray.text.types import BlockKind, Document
from models.bundled_e5 import ensure_checkpoint

_RUN_TOKENS = 150
_CODE = {BlockKind.CODE, BlockKind.JSON, BlockKind.LOG}


def main() -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--pages", type=int, default=300)
    parser.add_argument("--cache", type=Path, default=Path("~/.cache/babelray").expanduser())
    options = parser.parse_args()
    tokenizer = Tokenizer.from_file(str(ensure_checkpoint(options.cache) / "tokenizer.json"))
    tokenizer.no_truncation()
    source = SourceSettings(path=str(options.folder), format="markdown", language_from_path=r"^[^/]+/(?P<lang>[^/]+)/")
    parts = list(list_parts(source, 0))
    random.Random(0).shuffle(parts)
    texts: dict[str, list[str]] = defaultdict(list)
    for part in parts[: options.pages]:
        for page in read_part(part, source, TextSettings()):
            if isinstance(page, Document):
                for block in split_blocks(page):
                    name = "code" if block.kind in _CODE else page.declared_language or "und"
                    texts[name].append(block_text(page, block))
    print(f"{'language':<10}{'runs':>6}{'min':>7}{'p5':>7}{'p50':>7}{'p95':>7}{'share under 1':>15}")
    for name, found in sorted(texts.items()):
        real = [len(encoding.ids) for encoding in tokenizer.encode_batch(found, add_special_tokens=False)]
        ratios = _ratios([count_tokens(text) for text in found], real)
        if ratios.size:
            p5, p50, p95 = np.percentile(ratios, [5, 50, 95])
            print(f"{name:<10}{ratios.size:>6}{ratios.min():>7.2f}{p5:>7.2f}{p50:>7.2f}{p95:>7.2f}"
                  f"{(ratios < 1).mean():>15.3f}")  # fmt: skip
    return 0


def _ratios(counted: list[int], real: list[int]) -> np.ndarray:
    """Counted over real tokens of consecutive texts of about `_RUN_TOKENS` real tokens together."""
    ratios, ours, theirs = [], 0, 0
    for mine, other in zip(counted, real, strict=True):
        ours, theirs = ours + mine, theirs + other
        if theirs >= _RUN_TOKENS:
            ratios.append(ours / theirs)
            ours = theirs = 0
    return np.array(ratios)


if __name__ == "__main__":
    sys.exit(main())
