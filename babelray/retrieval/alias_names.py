"""Names of entities and glossary terms, as the alias table compares them: one projection, whatever the language.

A query's language is a guess, so a name is folded the same way for all: case, width, accents and the two writings of
Chinese go; letters that differ in sound stay.
"""

import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache

from langcodes import Language
from langcodes.tag_parser import LanguageTagError

from babelray.errors import ConfigError
from babelray.glossary.inflect.forms import MatchKind, expand
from babelray.glossary.normalize import Normalized, normalize
from babelray.glossary.terms import Entity, Term, TermKind
from babelray.text.folding import fold
from babelray.text.han import simplify
from babelray.text.scripts import COMMON, HAN, count_scripts

UNKNOWN = "und"
_WRITTEN_WITH = {"Hans": {HAN}, "Hant": {HAN}, "Jpan": {HAN, "Hira", "Kana"}, "Kore": {HAN, "Hang"}}
_LISTED = (MatchKind.EXACT, MatchKind.ALIAS, MatchKind.SPELLING, MatchKind.INFLECTED)
"""Kinds of forms that name a thing. Generated initialisms and clips are guesses: an alias has to be listed."""
_MIN_PINYIN = 2


@dataclass(frozen=True, slots=True)
class Name:
    """One name of a record.

    Attributes:
        languages: BCP 47; of an entity's names all of its languages that a name may be written in.
        term: The glossary row that gives the name and says when it holds; `None` for a name of an entity.
    """

    text: str
    languages: tuple[str, ...]
    term: Term | None = None

    @property
    def language(self) -> str:
        """The name's language where only one comes into question, else `und`."""
        return self.languages[0] if len(self.languages) == 1 else UNKNOWN


@dataclass(frozen=True, slots=True)
class NamedRecord:
    """A thing with its names: an entity, or the rows of a glossary that share tenant, domain and term id.

    Attributes:
        source: `entity:<id>` or `term:<id>`.
        tenant_id: Only callers of this tenant see it; `None` for everyone.
        names: Canonical name first.
    """

    source: str
    record_id: str
    tenant_id: str | None
    domain: str
    ambiguous: bool
    names: tuple[Name, ...]


def project(text: str) -> Normalized:
    """The folded form of a query or a name, with the way back to its characters."""
    view = normalize(simplify(text), UNKNOWN)
    if view.text.isascii():
        return view
    chars: list[str] = []
    starts: list[int] = []
    ends: list[int] = []
    for char, start, end in zip(view.text, view.starts, view.ends, strict=True):
        for folded in _without_accent(char):
            chars.append(folded)
            starts.append(start)
            ends.append(end)
    return Normalized(text, "".join(chars), starts, ends)


@lru_cache(maxsize=65_536)
def _without_accent(char: str) -> str:
    # Folding a sign such as the one for a trademark would glue letters to the word before it.
    return fold(char, UNKNOWN, "general") if unicodedata.category(char)[0] == "L" else char


def entity_records(entities: Iterable[Entity]) -> list[NamedRecord]:
    """Records of entities, in their order."""
    return [
        NamedRecord(
            source=f"entity:{entity.entity_id}",
            record_id=entity.entity_id,
            tenant_id=None,
            domain=entity.domain,
            ambiguous=entity.ambiguous,
            names=tuple(
                Name(text, _languages_of_name(text, entity.languages))
                for text in dict.fromkeys((entity.canonical_name, *entity.aliases))
            ),
        )
        for entity in entities
    ]


def term_records(terms: Iterable[Term]) -> list[NamedRecord]:
    """Records of a glossary: what one term is called in all its languages, in order of first appearance."""
    rows: dict[tuple[str, str, str], list[Term]] = {}
    for term in terms:
        rows.setdefault((term.tenant_id, term.domain, term.term_id), []).append(term)
    records = []
    for (tenant, domain, term_id), group in rows.items():
        names: dict[Name, None] = {}
        for term in group:
            for text in (term.source, *term.surface_forms, *term.aliases):
                names[Name(text, (term.source_locale,), term)] = None
            if term.kind is TermKind.CUSTOM_TRANSLATION:
                language = () if term.target_locale == "*" else (term.target_locale,)
                names[Name(term.target, language, term)] = None
        records.append(NamedRecord(f"term:{term_id}", term_id, tenant, domain, False, tuple(names)))
    return records


def forms_of(name: Name) -> dict[str, bool]:
    """The forms under which a name may stand in a query: as listed, spelled otherwise, inflected.

    Returns:
        Form -> whether only its own case is the name, since in one of its languages it is another word otherwise.
    """
    forms: dict[str, bool] = {}
    for language in name.languages or (UNKNOWN,):
        for form in expand(_as_term(name, language), language):
            if form.kind in _LISTED:
                forms[form.text] = forms.get(form.text, False) or form.cased
    return forms


def _as_term(name: Name, language: str) -> Term:
    """A term of this one name, since forms are made of terms."""
    shape: dict[str, object] = {"term_id": "name", "source_locale": language, "target_locale": "*", "source": name.text}
    given = name.term
    if given is None or given.kind is TermKind.NON_TRANSLATABLE:
        shape |= {"kind": TermKind.NON_TRANSLATABLE}
    else:
        shape |= {"kind": given.kind, "target": given.target}
    if given is not None:
        shape |= {"case": given.case, "part_of_speech": given.part_of_speech, "expand": given.expand}
    return Term.model_validate(shape)


def pinyin_of(text: str) -> str | None:
    """Syllables of a Chinese name without tones, written as one word; nothing for any other name.

    Raises:
        ConfigError: The package that knows the readings is not installed.
    """
    if len(text) < _MIN_PINYIN or set(count_scripts(text)) != {HAN} or not text.isalpha():
        return None
    try:
        from pypinyin import lazy_pinyin
    except ModuleNotFoundError as error:
        raise ConfigError(
            "matching by pinyin needs a package that is not installed",
            where="retrieval.pinyin",
            got=error.name,
            allowed="pypinyin 0.53 or later",
            fix="pip install 'babelray[pinyin]', or set retrieval.pinyin to false",
        ) from error
    return "".join(lazy_pinyin(text, errors="ignore", v_to_u=False)) or None


def _languages_of_name(text: str, languages: Sequence[str]) -> tuple[str, ...]:
    """Those of an entity's languages that are written with all scripts of a name."""
    scripts = {script for script in count_scripts(text) if script != COMMON}
    return tuple(tag for tag in languages if scripts <= _scripts_of_language(tag))


@lru_cache(maxsize=1024)
def _scripts_of_language(tag: str) -> frozenset[str]:
    try:
        script = Language.get(tag).maximize().script or ""
    except LanguageTagError:
        return frozenset()
    return frozenset(_WRITTEN_WITH.get(script, {script}))
