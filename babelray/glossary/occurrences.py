"""Where a rendering stands in a translation: exact, or inflected where the pair allows it."""

from dataclasses import dataclass
from functools import lru_cache

from babelray.glossary.automaton import same_case
from babelray.glossary.boundaries import Boundaries
from babelray.glossary.breaks import base_language
from babelray.glossary.inflect.forms import MatchKind, expand
from babelray.glossary.inflect.rules import language_rules
from babelray.glossary.normalize import fold_text, normalize
from babelray.glossary.protect import find_protected
from babelray.glossary.spans import Taken
from babelray.glossary.terms import Term, TermKind


@dataclass(frozen=True, slots=True)
class Occurrence:
    """A rendering found in an output, in the output's own offsets."""

    start: int
    end: int
    surface: str
    inflected: bool


class OutputText:
    """A translation, prepared once and asked for many renderings.

    Args:
        text: The output string; what is protected in it does not count.
        locale: Its BCP 47 locale.
    """

    def __init__(self, text: str, locale: str) -> None:
        self.text = text
        self.locale = locale
        self._rules = language_rules(base_language(locale))
        self._view = normalize(text, locale, find_protected(text))
        self._borders = Boundaries(self._view.text, locale, self._rules, frozenset())

    def find(self, rendering: str, *, inflected: bool, cased: bool) -> list[Occurrence]:
        """Occurrences as whole words, by start, without overlap, longest first at one place.

        Args:
            rendering: What is looked for.
            inflected: Whether its inflected forms count too.
            cased: Whether letters must have the rendering's case.
        """
        found: list[Occurrence] = []
        taken = Taken()
        forms = _forms(rendering, self.locale) if inflected else (rendering,)
        for form in sorted(forms, key=len, reverse=True):
            folded = fold_text(form, self.locale)
            at = self._view.text.find(folded) if folded else -1
            while at >= 0:
                end = at + len(folded)
                if self._borders.whole_words(at, end):
                    start, stop = self._view.to_original(at, end)
                    surface = self.text[start:stop]
                    if not taken.meets(start, stop) and (not cased or same_case(surface, form)):
                        taken.add(start, stop)
                        found.append(Occurrence(start, stop, surface, form != rendering))
                at = self._view.text.find(folded, at + 1)
        return sorted(found, key=lambda o: o.start)


@lru_cache(maxsize=65_536)
def _forms(rendering: str, locale: str) -> tuple[str, ...]:
    kind = TermKind.NON_TRANSLATABLE
    term = Term(term_id="rendering", source_locale=locale, target_locale="*", source=rendering, kind=kind)
    # As a custom term it would have all its forms; only a name is limited to plural and genitive.
    free = term.model_copy(update={"kind": TermKind.CUSTOM_TRANSLATION})
    return (rendering, *(f.text for f in expand(free) if f.kind is MatchKind.INFLECTED and "+" not in f.rule))
