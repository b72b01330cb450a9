"""Engines that cannot read rules: terms, placeholders and tags travel as marks, lines and ICU branches one by one."""

from collections.abc import Sequence
from dataclasses import dataclass

from babelray.errors import AccessDenied, InputError, UpstreamError
from babelray.glossary.codes import find_codes
from babelray.glossary.records import Failure, TranslatorUsed
from babelray.glossary.segments import segments
from babelray.glossary.translating import Bound, Rendered, Spent, failed
from babelray.protocols import Translation
from models.translators.router import TranslationRouter

LOST = "did not come back exactly once"
Span = tuple[int, int]


@dataclass(frozen=True, slots=True)
class _Piece:
    """A piece of a string with its spans counted from its own beginning."""

    string: int
    start: int
    end: int
    text: str
    protected: tuple[Span, ...]
    terms: tuple[tuple[int, int, str], ...]


class MarkedTranslator:
    """A `BoundTranslator` over the ways that a router knows.

    Args:
        router: With the data boundary of whose strings it gets.
        name: What profiles call it.
        external: Whether one of its ways leaves for a service of others.
    """

    def __init__(self, router: TranslationRouter, name: str = "marked", *, external: bool = False) -> None:
        self._router = router
        self.name = name
        self.external = external
        self.version = router.version
        self.spent = Spent()

    def can(self, source: str, target: str) -> bool:
        """Whether there is a way between the languages."""
        return self._router.can(source, target)

    def translate(self, strings: Sequence[Bound], source: str, target: str, *, tenant_id: str) -> list[Rendered]:
        """One result a string: all its pieces translated, or why one is not."""
        pieces = [piece for number, one in enumerate(strings) for piece in _pieces(number, one)]
        worded = [piece for piece in pieces if _worth_translating(piece)]
        try:
            made = self._router.translate(
                [one.text for one in worded],
                source,
                target,
                tenant_id=tenant_id,
                protected=[one.protected for one in worded],
                terms=[one.terms for one in worded],
            )
        except AccessDenied as error:
            return failed(strings, Failure.BOUNDARY, error.what)
        except InputError as error:
            return failed(strings, Failure.NO_TRANSLATOR, error.what)
        except UpstreamError as error:
            return failed(strings, Failure.UPSTREAM, error.what)
        self.spent.requests += 1
        of_string: dict[int, list[tuple[_Piece, Translation | None]]] = {}
        for piece, translation in zip(worded, made, strict=True):
            of_string.setdefault(piece.string, []).append((piece, translation))
        return [_joined(one, of_string.get(number, [])) for number, one in enumerate(strings)]


def _pieces(number: int, string: Bound) -> list[_Piece]:
    codes = find_codes(string.text, string.protected, string.matches)
    kept = [*codes, *((one.start, one.end) for one in string.protected)]
    return [
        _Piece(
            number,
            start,
            end,
            string.text[start:end],
            tuple((a - start, b - start) for a, b in sorted(kept) if start <= a and b <= end),
            tuple(
                (m.start - start, m.end - start, m.rendering)
                for m in string.matches
                if start <= m.start and m.end <= end
            ),
        )
        for start, end in segments(string.text, string.protected, codes)
    ]


def _worth_translating(piece: _Piece) -> bool:
    """Whether something is left besides protected spans."""
    done = 0
    for start, end in piece.protected:
        if any(map(str.isalpha, piece.text[done:start])):
            return True
        done = end
    return any(map(str.isalpha, piece.text[done:]))


def _joined(string: Bound, made: Sequence[tuple[_Piece, Translation | None]]) -> Rendered:
    """The string with its pieces replaced."""
    parts: list[str] = []
    done = 0
    for piece, translation in made:
        if translation is None:
            detail = f"nothing was offered for {piece.text[:60]!r}"
            return Rendered(None, failure=Failure.NO_TRANSLATOR, detail=detail)
        if translation.damaged:
            detail = f"{', '.join(translation.damaged)} {LOST}"
            return Rendered(None, _used(made), Failure.PROTECTED_DAMAGED, detail)
        parts += (string.text[done : piece.start], translation.text)
        done = piece.end
    return Rendered("".join(parts) + string.text[done:], _used(made))


def _used(made: Sequence[tuple[_Piece, Translation | None]]) -> TranslatorUsed | None:
    """Where the pieces came from; the first that an engine touched stands for all, since one way serves a call."""
    known = [translation for _, translation in made if translation is not None]
    if not known:
        return None
    first = next((one for one in known if one.translator != "glossary"), known[0])
    return TranslatorUsed(
        translator=first.translator,
        model=first.model,
        version=first.version,
        route=first.route,
        translation_id=first.translation_id,
        glossary_version=first.glossary_version,
    )
