"""How much of the evidence was found, by characters and by sentences: precision, recall and F1 of spans of a text."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

Span = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Overlap:
    """Precision, recall and their harmonic mean, each in 0..1; all 0 where nothing was found or nothing was to find."""

    precision: float
    recall: float
    f1: float


def overlap(found: float, relevant: float, both: float) -> Overlap:
    """From three sizes: what was returned, what is evidence, what is both."""
    precision = both / found if found else 0.0
    recall = both / relevant if relevant else 0.0
    return Overlap(precision, recall, 2 * precision * recall / (precision + recall) if both else 0.0)


def character_overlap(returned: Mapping[str, Iterable[Span]], evidence: Mapping[str, Iterable[Span]]) -> Overlap:
    """By code points, over all documents together.

    Args:
        returned: Document -> spans that were returned; overlapping ones count once.
        evidence: Document -> spans of the evidence.
    """
    found = {doc_id: united(spans) for doc_id, spans in returned.items()}
    gold = {doc_id: united(spans) for doc_id, spans in evidence.items()}
    both = sum(_common(found[doc_id], gold[doc_id]) for doc_id in found.keys() & gold.keys())
    return overlap(sum(map(_length, found.values())), sum(map(_length, gold.values())), both)


def sentence_overlap(
    returned: Mapping[str, Iterable[Span]],
    evidence: Mapping[str, Iterable[Span]],
    sentences: Mapping[str, Sequence[Span]],
) -> Overlap:
    """By sentences of the collection: one counts as returned, or as evidence, when half of it or more is covered.

    Args:
        returned: Document -> spans that were returned.
        evidence: Document -> spans of the evidence.
        sentences: Document -> its sentences, for every document that occurs.
    """
    found = {(doc_id, at) for doc_id, spans in returned.items() for at in _covered(spans, sentences[doc_id])}
    gold = {(doc_id, at) for doc_id, spans in evidence.items() for at in _covered(spans, sentences[doc_id])}
    return overlap(len(found), len(gold), len(found & gold))


def united(spans: Iterable[Span]) -> list[Span]:
    """Sorted and disjoint spans that cover the same characters."""
    done: list[Span] = []
    for start, end in sorted(span for span in spans if span[0] < span[1]):
        if done and start <= done[-1][1]:
            done[-1] = (done[-1][0], max(done[-1][1], end))
        else:
            done.append((start, end))
    return done


def _length(spans: Iterable[Span]) -> int:
    return sum(end - start for start, end in spans)


def _common(left: Sequence[Span], right: Sequence[Span]) -> int:
    return sum(max(0, min(a[1], b[1]) - max(a[0], b[0])) for a in left for b in right)


def _covered(spans: Iterable[Span], sentences: Sequence[Span]) -> list[int]:
    joined = united(spans)
    return [at for at, one in enumerate(sentences) if 2 * _common([one], joined) >= max(1, one[1] - one[0])]
