"""The language pairs of a translator, as settings write them."""

from collections.abc import Iterable, Mapping

from babelray.glossary.locales import serves

Pairs = frozenset[tuple[str, str]]


def parse_pairs(pairs: Iterable[str]) -> Pairs:
    """Pairs of `source>target`; a pattern of the settings guarantees the form."""
    return frozenset((source, target) for source, _, target in (pair.partition(">") for pair in pairs))


def covers(pairs: Pairs, source: str, target: str) -> bool:
    """Whether one of the pairs serves two languages: one of `pt` serves `pt-BR`, one of `pt-BR` does not serve `pt`."""
    return any(serves(left, source) is not None and serves(right, target) is not None for left, right in pairs)


def code_of(codes: Mapping[str, str], language: str) -> str:
    """A model's own code for a BCP 47 language: that of the most specific entry that serves it, else the tag itself."""
    known = [(specific, tag) for tag in codes if (specific := serves(tag, language)) is not None]
    return codes[max(known)[1]] if known else language
