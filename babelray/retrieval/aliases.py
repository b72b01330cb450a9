"""Finds names of entities and glossary terms in a query and gives their other names to search for.

Every form of every name stands in one Aho-Corasick automaton; what it finds counts only where it is whole words. The
longest name of a place wins. A name that several records share gives one match a record: which is meant is for the
caller to decide, and nothing is merged.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from pathlib import Path

from ahocorasick_rs import AhoCorasick, Implementation
from ahocorasick_rs import MatchKind as Search
from pydantic import ValidationError

from babelray.errors import InputError
from babelray.glossary.automaton import MAX_DFA_PATTERNS, same_case
from babelray.glossary.boundaries import Boundaries
from babelray.glossary.breaks import base_language
from babelray.glossary.inflect.rules import language_rules
from babelray.glossary.normalize import Normalized
from babelray.glossary.terms import Entity, Term
from babelray.keys import ANALYZER_VERSION, digest_of
from babelray.retrieval.alias_names import (
    UNKNOWN,
    Name,
    NamedRecord,
    entity_records,
    forms_of,
    pinyin_of,
    project,
    term_records,
)

ALIASES_VERSION = "aliases-1"


@dataclass(frozen=True, slots=True)
class AliasName:
    """A name to search for, with its BCP 47 language (`und` where nobody says)."""

    text: str
    language: str


@dataclass(frozen=True, slots=True)
class AliasMatch:
    """A name in a query, read as one record's.

    Attributes:
        start, end: Code point span in the query; `query[start:end] == matched`.
        entity_ids: Ids of all records that this name may mean, this match's own first. More than one: each has a
            match of its own on the same span.
        names: The record's other names that hold now, canonical first; empty if it has none.
        languages: Languages that the matched name may be of; empty where nobody says.
        domain: Of the record; empty for none.
        ambiguous: Whether the name may mean something else: several records share it, or its record says so.
        source: `entity:<id>` or `term:<id>`, as a plan's variant names it.
    """

    start: int
    end: int
    matched: str
    entity_ids: tuple[str, ...]
    names: tuple[AliasName, ...]
    languages: tuple[str, ...]
    domain: str
    ambiguous: bool
    source: str


@dataclass(frozen=True, slots=True)
class _Entry:
    """One form of one name of one record.

    Attributes:
        cased: The form as the query must have it, or nothing if its case does not matter.
    """

    record: int
    name: int
    cased: str | None


@dataclass(frozen=True, slots=True)
class _Reader:
    """Who asks: what the records and names are filtered by."""

    tenant_id: str
    as_of: datetime | None
    domain: str

    def sees(self, record: NamedRecord) -> bool:
        own = record.tenant_id is None or record.tenant_id == self.tenant_id
        return own and (not self.domain or record.domain in ("", self.domain))

    def holds(self, name: Name) -> bool:
        return name.term is None or name.term.is_valid(self.as_of)


class AliasTable:
    """Names of entities and terms, ready to be found. Safe to share between threads.

    Args:
        entities: Known to every tenant.
        terms: Each known to its own tenant only, while it is valid; a translation is another name.
        pinyin: Also find Chinese names by their syllables written as one word without tones. Many words of other
            languages look like that.

    Raises:
        InputError: Two entities have one id.
        ConfigError: `pinyin` is asked for and its package is missing.
    """

    def __init__(self, entities: Sequence[Entity], terms: Sequence[Term], *, pinyin: bool = False) -> None:
        _refuse_duplicates(entities)
        self.records = (*entity_records(entities), *term_records(terms))
        self._shape = [ALIASES_VERSION, ANALYZER_VERSION, pinyin]
        entries: dict[str, dict[_Entry, None]] = {}
        for number, record in enumerate(self.records):
            for place, name in enumerate(record.names):
                for pattern, cased in _patterns(name, pinyin=pinyin):
                    entries.setdefault(pattern, {})[_Entry(number, place, cased)] = None
        patterns = sorted(entries)
        self._entries = [tuple(entries[pattern]) for pattern in patterns]
        kind = Implementation.DFA if len(patterns) <= MAX_DFA_PATTERNS else Implementation.ContiguousNFA
        self._search = AhoCorasick(patterns, matchkind=Search.Standard, implementation=kind)

    @cached_property
    def version(self) -> str:
        """Digest of all records and of the rules that find them; part of plan and cache keys."""
        rows = [
            [
                record.source, record.tenant_id, record.domain, record.ambiguous,
                [[n.text, n.languages, n.term.model_dump(mode="json") if n.term else None] for n in record.names],
            ]
            for record in self.records
        ]  # fmt: skip
        return digest_of([*self._shape, rows])

    def find(
        self,
        text: str,
        *,
        tenant_id: str,
        as_of: datetime | None = None,
        domain: str = "",
        languages: Sequence[str] = (),
    ) -> list[AliasMatch]:
        """Names in a query, by start, then source.

        Args:
            text: The query as typed.
            tenant_id: Of the caller's scope.
            as_of: Time at which terms must be valid; `None` takes any.
            domain: Only records of this domain and of none, and of those that share a name the ones of the domain
                where there are any; empty takes all.
            languages: What the query may be written in: their rules for what may touch a name hold beside those of
                the name's own language (Turkish `Kubernetes'in`, French `l'image`).
        """
        view = project(text)
        reader = _Reader(tenant_id, as_of, domain)
        found: dict[tuple[int, int], dict[int, set[int]]] = {}
        for (start, end), entry in self._hits(view, reader, languages):
            names = found.setdefault(view.to_original(start, end), {}).setdefault(entry.record, set())
            names.add(entry.name)
        matches = []
        for span in _longest(found, len(text)):
            meant = self._prefer_domain(found[span], domain)
            ids = [self.records[number].record_id for number in meant]
            for number, names in meant.items():
                own = self.records[number].record_id
                others = tuple(dict.fromkeys([own, *ids]))
                matches.append(self._match(text, span, number, names, others, len(meant) > 1, reader))
        return sorted(matches, key=lambda match: (match.start, match.source, match.domain))

    def _hits(
        self, view: Normalized, reader: _Reader, languages: Sequence[str]
    ) -> Iterator[tuple[tuple[int, int], _Entry]]:
        """Spans of the projection that hold a form as whole words, with what it is a form of."""
        hits = self._search.find_matches_as_indexes(view.text, overlapping=True)
        if not hits:
            return
        borders = _Borders(view.text, languages)
        for pattern, start, end in hits:
            for entry in self._entries[pattern]:
                record = self.records[entry.record]
                name = record.names[entry.name]
                if not reader.sees(record) or not reader.holds(name):
                    continue
                if not borders.hold(start, end, name.languages) or not _fits_context(name.term, view.text):
                    continue
                first, last = view.to_original(start, end)
                if entry.cased is None or same_case(view.original[first:last], entry.cased):
                    yield (start, end), entry

    def _prefer_domain(self, meant: dict[int, set[int]], domain: str) -> dict[int, set[int]]:
        exact = {n: names for n, names in meant.items() if domain and self.records[n].domain == domain}
        chosen = exact or meant
        return {number: chosen[number] for number in sorted(chosen)}

    def _match(
        self, text: str, span: tuple[int, int], number: int, names: set[int], ids: tuple[str, ...], shared: bool,
        reader: _Reader,
    ) -> AliasMatch:  # fmt: skip
        record = self.records[number]
        known = {project(record.names[place].text).text for place in names}
        others: dict[str, AliasName] = {}
        for name in record.names:
            folded = project(name.text).text
            if reader.holds(name) and folded not in known:
                others.setdefault(folded, AliasName(name.text, name.language))
        return AliasMatch(
            start=span[0],
            end=span[1],
            matched=text[span[0] : span[1]],
            entity_ids=ids,
            names=tuple(others.values()),
            languages=tuple(dict.fromkeys(tag for place in sorted(names) for tag in record.names[place].languages)),
            domain=record.domain,
            ambiguous=record.ambiguous or shared,
            source=record.source,
        )


class _Borders:
    """Whether spans of one projection are whole words; each span is looked at once a language."""

    def __init__(self, text: str, languages: Iterable[str]) -> None:
        self._text = text
        self._asked = tuple(base_language(tag) for tag in languages)
        self._by_language: dict[str, Boundaries] = {}
        self._known: dict[tuple[int, int, str], bool] = {}

    def hold(self, start: int, end: int, languages: Sequence[str]) -> bool:
        """Whether a name of some languages may stand there."""
        own = [base_language(tag) for tag in languages] or [UNKNOWN]
        return any(self._whole(start, end, language) for language in (*own, *self._asked))

    def _whole(self, start: int, end: int, language: str) -> bool:
        key = (start, end, language)
        if key not in self._known:
            borders = self._by_language.get(language)
            if borders is None:
                borders = Boundaries(self._text, language, language_rules(language), frozenset())
                self._by_language[language] = borders
            self._known[key] = borders.whole_words(start, end)
        return self._known[key]


def _patterns(name: Name, *, pinyin: bool) -> Iterator[tuple[str, str | None]]:
    """Projected forms of a name, each with the case it needs."""
    for form, cased in forms_of(name).items():
        folded = project(form).text
        if folded:
            yield folded, form if cased else None
    syllables = pinyin_of(name.text) if pinyin else None
    if syllables:
        yield syllables, None


def _fits_context(term: Term | None, text: str) -> bool:
    """Whether a term that is narrowed by other words of its string may stand here."""
    if term is None or not (term.only_with or term.not_with):
        return True
    wanted = not term.only_with or any(project(word).text in text for word in term.only_with)
    return wanted and not any(project(word).text in text for word in term.not_with)


def _longest(spans: Iterable[tuple[int, int]], length: int) -> list[tuple[int, int]]:
    """Spans that do not overlap, the longest of each place, the first of equally long ones."""
    taken = bytearray(length)
    chosen = []
    for start, end in sorted(spans, key=lambda span: (span[0] - span[1], span[0])):
        # What is taken already is at least as long, so an overlap shows at one of the ends.
        if not taken[start] and not taken[end - 1]:
            taken[start:end] = b"\x01" * (end - start)
            chosen.append((start, end))
    return sorted(chosen)


def _refuse_duplicates(entities: Iterable[Entity]) -> None:
    seen: set[str] = set()
    for entity in entities:
        if entity.entity_id in seen:
            raise InputError(
                "an entity is given twice", where="entity_id", got=entity.entity_id, fix="put its names into one record"
            )
        seen.add(entity.entity_id)


def load_entities(paths: Sequence[Path]) -> list[Entity]:
    """Read entity files, in their order; one JSON object a line, empty lines are skipped.

    Raises:
        InputError: A file cannot be read, a line is no entity, or an id occurs twice.
    """
    found: list[Entity] = []
    places: dict[str, str] = {}
    for path in paths:
        for number, line in enumerate(_lines(path), start=1):
            if not line.strip():
                continue
            where = f"{path}, line {number}"
            entity = _entity(line, where)
            if entity.entity_id in places:
                raise InputError(
                    "an entity is given twice",
                    where=where,
                    got=entity.entity_id,
                    allowed=f"once; it stands in {places[entity.entity_id]} already",
                    fix="put its names into one record",
                )
            places[entity.entity_id] = where
            found.append(entity)
    return found


def _lines(path: Path) -> Iterator[str]:
    try:
        with path.open(encoding="utf-8") as file:
            yield from file
    except OSError as error:
        fix = "check retrieval.entities"
        raise InputError("cannot read an entity file", where=path, got=error.strerror, fix=fix) from error
    except UnicodeDecodeError as error:
        raise InputError("an entity file is not UTF-8", where=path, got=str(error)) from error


def _entity(line: str, where: str) -> Entity:
    try:
        return Entity.model_validate_json(line)
    except ValidationError as error:
        problem = error.errors(include_url=False)[0]
        field = ".".join(str(part) for part in problem["loc"])
        raise InputError(
            f"not an entity: {f'`{field}`: ' if field else ''}{problem['msg']}",
            where=where,
            got=line.strip()[:200],
            allowed=", ".join(Entity.model_fields),
        ) from None
