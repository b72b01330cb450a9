"""Run every page of a folder of documents through the preparation and check what must hold for each.

    python benchmarks/text_corpus_check.py FOLDER [--limit N] [--profile]

FOLDER holds `<source>/<language>/<path>`. Checked for every page: spans are exact and in order, sentences cover what is
shown without overlap, every sentence is in exactly one chunk, no chunk is over its cap, no word of an HTML comment that
stands nowhere else is in a chunk, and (by a crude reading of the page that shares no code with the parser) hardly any
word is lost. Ends with 1 if a check fails.
"""

import argparse
import cProfile
import pstats
import re
import sys
import time
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from pathlib import Path

from babelray.config import SourceSettings, TextSettings
from babelray.text.chunks import passage_text
from babelray.text.language import LanguagePolicy
from babelray.text.prepare import prepare_document, sentence_text
from babelray.text.projection import project
from babelray.text.readers import list_parts, read_part
from babelray.text.tokens import count_tokens
from babelray.text.types import Document, PreparedDocument, Reject
from models.identifier import FastTextIdentifier

_FENCE = re.compile(r"^[ \t>]*(?:[-*+][ \t]+|\d+[.)][ \t]+)*(`{3,}|~{3,}).*?(?:^[ \t>]*\1[`~]*[ \t]*$|\Z)", re.S | re.M)
_COMMENT = re.compile(r"<!--.*?-->", re.S)
_FRONT = re.compile(r"\A\ufeff?---\s*\n.*?^---\s*$", re.S | re.M)
# What a crude reading must leave out: targets of links, tags, shortcodes, reference definitions, attribute lists.
_SHORTCODE = re.compile(r"\{\{[<%].*?[>%]\}\}", re.S)
_MARKUP = re.compile(
    r"<(script|style)\b.*?</\1>|<\?.*?>|\]\([^()\s]*(?:\([^()]*\)[^()\s]*)*(?:\s+[\"'][^\n]*?[\"'])?\s*\)|\]\[[^\]\n]*\]"
    r"|</?[a-zA-Z][^<>]*>|^\s*\[[^\]\n]+\]:.*(?:\n[ \t]+\S+[ \t]*$)?|\{[#.:][^}\n]*\}|&#?\w+;",
    re.S | re.M,
)
_WORD = re.compile(r"[^\W_]{3,}")


@dataclass(slots=True)
class Tally:
    """What was counted for one source and language."""

    pages: int = 0
    size: int = 0
    seconds: float = 0.0
    sentences: int = 0
    chunks: int = 0
    words: int = 0
    lost: int = 0
    tokens: list[int] = field(default_factory=list)
    kinds: Counter[str] = field(default_factory=Counter)
    rejects: Counter[str] = field(default_factory=Counter)


def bare(text: str) -> str:
    """A text without white space and bars: a row that is divided between two cells loses the bar that joined them."""
    return "".join(text.replace("|", " ").split())


def problems_of(prepared: PreparedDocument, policy: TextSettings) -> list[str]:
    """Violated invariants of a prepared document, in words."""
    text, problems = prepared.document.text, []
    last = 0
    for block in prepared.blocks:
        if not last <= block.start < block.end <= len(text):
            problems.append(f"block {block.start}:{block.end} overlaps or is empty")
        last = block.end
        at = block.start
        for cut in block.cuts:
            if not at <= cut.start < cut.end <= block.end:
                problems.append(f"cut {cut.start}:{cut.end} is not inside its block or not in order")
            at = cut.end
    shown: dict[int, list[str]] = defaultdict(list)
    last = 0
    for number, sentence in enumerate(prepared.sentences):
        block = prepared.blocks[sentence.block]
        if not max(last, block.start) <= sentence.start < sentence.end <= block.end:
            problems.append(f"sentence {sentence.start}:{sentence.end} overlaps or leaves its block")
        last = sentence.end
        shown[sentence.block].append(sentence_text(prepared, number))
    for number, block in enumerate(prepared.blocks):
        whole = project(text, block.start, block.end, block.cuts).text
        if bare("".join(shown[number])) != bare(whole):
            problems.append(f"sentences of block {number} do not add up to it")
    return problems + chunk_problems(prepared, policy)


def chunk_problems(prepared: PreparedDocument, policy: TextSettings) -> list[str]:
    """Violated invariants of the chunks."""
    problems, following = [], 0
    for chunk in prepared.chunks:
        if chunk.first_sentence > following or chunk.last_sentence < following:
            problems.append(f"sentences {following}..{chunk.first_sentence} are in no chunk")
        if following - chunk.first_sentence > policy.overlap_sentences:
            problems.append(f"chunk at {chunk.start} overlaps by more than configured")
        following = chunk.last_sentence + 1
        first, last = prepared.sentences[chunk.first_sentence], prepared.sentences[chunk.last_sentence]
        if (chunk.start, chunk.end) != (first.start, last.end):
            problems.append(f"chunk {chunk.start}:{chunk.end} is not the span of its sentences")
        if max(chunk.tokens, count_tokens(passage_text(chunk))) > policy.max_tokens:
            problems.append(f"chunk at {chunk.start} counts {chunk.tokens} tokens")
        parts = [sentence_text(prepared, at) for at in range(chunk.first_sentence, chunk.last_sentence + 1)]
        if bare("".join(parts)) != bare(chunk.content):
            problems.append(f"content of the chunk at {chunk.start} is not that of its sentences")
    if following != len(prepared.sentences):
        problems.append(f"sentences from {following} on are in no chunk")
    return problems


def crude_words(text: str) -> tuple[list[str], set[str]]:
    """Words of a page outside header, comments, code and markup, and words that stand in comments only."""
    body = _FRONT.sub("", text)
    without_code = _FENCE.sub("\n", _COMMENT.sub(lambda found: "" if "```" in found[0] else found[0], body))
    everything_else = _COMMENT.sub(" ", _COMMENT.sub("", body))
    comments = " ".join(_COMMENT.findall(without_code))
    only = set(_WORD.findall(comments)) - set(_WORD.findall(everything_else))
    visible = _FENCE.sub("\n", _COMMENT.sub("", body))
    return _WORD.findall(_MARKUP.sub(" ", _SHORTCODE.sub("\0", visible))), only


def check_page(
    document: Document, languages: LanguagePolicy, policy: TextSettings, tally: Tally, losses: Counter[str]
) -> list[str]:
    """Prepare and check one page; counts go to `tally`."""
    began = time.process_time()
    prepared = prepare_document(document, languages, policy)
    tally.seconds += time.process_time() - began
    tally.pages += 1
    tally.size += len(document.text.encode())
    tally.sentences += len(prepared.sentences)
    tally.chunks += len(prepared.chunks)
    tally.tokens += [chunk.tokens for chunk in prepared.chunks]
    tally.kinds.update(block.kind.value for block in prepared.blocks)
    problems = problems_of(prepared, policy)
    content = "\n".join(chunk.content for chunk in prepared.chunks)
    words, only_in_comments = crude_words(document.text)
    leaked = only_in_comments & set(_WORD.findall(content))
    if leaked:
        problems.append(f"words of comments in chunks: {sorted(leaked)[:5]}")
    # Han words are told apart by nothing, so a wrapped line may join two: look for the characters, not the word.
    joined = "".join(content.split())
    lost = [word for word in words if word not in joined]
    tally.words += len(words)
    tally.lost += len(lost)
    losses.update(f"{document.source_uri}: {word}" for word in lost)
    return problems


def main() -> int:
    """Check a folder and print a table by source and language."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--limit", type=int, default=None)
    parser.add_argument("--overlap", type=int, default=0)
    parser.add_argument("--max-tokens", type=int, default=256)
    parser.add_argument("--losses", type=int, default=20, help="lost words to print")
    parser.add_argument("--profile", action="store_true")
    options = parser.parse_args()
    source = SourceSettings(path=str(options.folder), format="markdown", language_from_path=r"^[^/]+/(?P<lang>[^/]+)/")
    policy = TextSettings(max_tokens=options.max_tokens, overlap_sentences=options.overlap)
    languages = LanguagePolicy(FastTextIdentifier())
    tallies: dict[tuple[str, ...], Tally] = defaultdict(Tally)
    failed = 0
    losses: Counter[str] = Counter()
    profile = cProfile.Profile()
    for part in list(list_parts(source, 0))[: options.limit]:
        tally = tallies[tuple(part.uri.split("/")[:2])]
        for item in read_part(part, source, policy):
            if isinstance(item, Reject):
                tally.rejects[item.reason] += 1
                continue
            if options.profile:
                profile.enable()
            problems = check_page(item, languages, policy, tally, losses)
            profile.disable()
            failed += bool(problems)
            for problem in problems[:3]:
                print(f"{item.source_uri}: {problem}")
    report(tallies, losses, options.losses)
    if options.profile:
        pstats.Stats(profile, stream=sys.stdout).sort_stats("tottime").print_stats(25)
    print("failed pages:", failed)
    return 1 if failed else 0


def report(tallies: dict[tuple[str, ...], Tally], losses: Counter[str], most: int) -> None:
    """Print the counts."""
    print(f"{'source/language':<24}{'pages':>6}{'MB':>7}{'s':>7}{'MB/s':>6}{'sentences':>10}{'chunks':>8}"
          f"{'tokens p50':>11}{'words':>9}{'lost':>6}  blocks; rejects")  # fmt: skip
    for name, tally in sorted(tallies.items()):
        middle = sorted(tally.tokens)[len(tally.tokens) // 2] if tally.tokens else 0
        kinds = " ".join(f"{kind} {count}" for kind, count in tally.kinds.most_common())
        print(f"{'/'.join(name):<24}{tally.pages:>6}{tally.size / 1e6:>7.2f}{tally.seconds:>7.1f}"
              f"{tally.size / 1e6 / max(tally.seconds, 1e-9):>6.2f}{tally.sentences:>10}{tally.chunks:>8}"
              f"{middle:>11}{tally.words:>9}{tally.lost:>6}  {kinds}; {dict(tally.rejects) or 'none'}")  # fmt: skip
    print(f"lost words: {sum(losses.values())} of {sum(tally.words for tally in tallies.values())}")
    for word, count in losses.most_common(most):
        print(f"  {count:>4}  {word}")


if __name__ == "__main__":
    sys.exit(main())
