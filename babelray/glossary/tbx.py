"""TBX, the XML exchange form of termbases: ISO 30042:2019 (DCA style) written; that and the older martif form read.

The parser loads nothing but the bytes it is given: entity declarations are refused, external DTDs are never fetched.
What TBX has no category for travels as `admin` of a type that starts with `x-babelray-`, which other tools ignore.
"""

import json
from collections.abc import Iterable, Iterator
from datetime import datetime
from itertools import groupby
from typing import Any
from xml.etree.ElementTree import Element, SubElement, TreeBuilder, indent, tostring
from xml.parsers import expat

from babelray.errors import InputError
from babelray.glossary.terms import Term, TermKind

_NAMESPACE = "urn:iso:std:iso:30042:ed-2"
_XML_LANG = "xml:lang"
_OWN = "x-babelray-"
_CONCEPT, _LANGUAGE, _TERM = ("conceptEntry", "termEntry"), ("langSec", "langSet"), ("termSec", "tig", "ntig")
_LISTS = ("surface_forms", "only_with", "not_with")
_DEFAULT = Term(term_id="x", source_locale="en", target_locale="*", source="x", kind=TermKind.NON_TRANSLATABLE)
_PLAIN = ("hint", "case", "expand", "valid_from", "valid_to", "version", *_LISTS)


def write_tbx(terms: Iterable[Term]) -> bytes:
    """One concept entry a run of terms that share id and source side; each target locale is a language section."""
    terms = list(terms)
    root = Element("tbx", {"xmlns": _NAMESPACE, "type": "TBX-Babelray", "style": "dca", _XML_LANG: "en"})
    header = SubElement(SubElement(root, "tbxHeader"), "fileDesc")
    SubElement(SubElement(header, "sourceDesc"), "p").text = "Exported from a Babelray glossary"
    body = SubElement(SubElement(root, "text"), "body")
    for number, (_, group) in enumerate(groupby(terms, key=_source_side), start=1):
        _write_concept(SubElement(body, "conceptEntry", {"id": f"c{number}"}), list(group))
    indent(root)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{tostring(root, encoding="unicode")}\n'.encode()


def _source_side(term: Term) -> str:
    fields = ("term_id", "tenant_id", "domain", "source_locale", "source", "aliases", "part_of_speech")
    return json.dumps([getattr(term, name) for name in fields])


def _write_concept(entry: Element, terms: list[Term]) -> None:
    first = terms[0]
    _admin(entry, "term_id", first.term_id)
    _admin(entry, "tenant_id", first.tenant_id)
    if first.domain:
        SubElement(entry, "descrip", {"type": "subjectField"}).text = first.domain
    section = SubElement(entry, "langSec", {_XML_LANG: first.source_locale})
    _write_term(section, first.source, "preferredTerm-admn-sts", first.part_of_speech)
    for alias in first.aliases:
        _write_term(section, alias, "admittedTerm-admn-sts")
    for term in terms:
        section = SubElement(entry, "langSec", {_XML_LANG: "mul" if term.target_locale == "*" else term.target_locale})
        _admin(section, "kind", term.kind.value)
        for name in _PLAIN:
            value = getattr(term, name)
            if value != getattr(_DEFAULT, name):
                _admin(section, name, _to_text(value))
        _write_term(section, term.rendering, "preferredTerm-admn-sts")
        for forbidden in term.forbidden_translations:
            _write_term(section, forbidden, "deprecatedTerm-admn-sts")


def _to_text(value: Any) -> str:
    if isinstance(value, datetime):
        return value.isoformat()
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _admin(parent: Element, name: str, value: str) -> None:
    SubElement(parent, "admin", {"type": _OWN + name}).text = value


def _write_term(section: Element, text: str, status: str, part_of_speech: str = "") -> None:
    term = SubElement(section, "termSec")
    SubElement(term, "term").text = text
    SubElement(term, "termNote", {"type": "administrativeStatus"}).text = status
    if part_of_speech:
        name = "properNoun" if part_of_speech == "proper" else part_of_speech
        SubElement(term, "termNote", {"type": "partOfSpeech"}).text = name


def read_tbx(data: bytes, name: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Rows of a TBX file, as (place, fields): each concept's first language section is its source.

    Raises:
        InputError: The bytes are not XML, declare entities, or are not TBX.
    """
    root = _parse(data, name)
    if root.tag not in ("tbx", "martif", "TBX"):
        raise InputError("the file is not TBX", where=name, got=f"<{root.tag}>", allowed="<tbx> or <martif>")
    for number, entry in enumerate((e for e in root.iter() if e.tag in _CONCEPT), start=1):
        place = f"{name}, entry {entry.get('id', number)}"
        sections = [e for e in entry.iter() if e.tag in _LANGUAGE]
        if not sections:
            raise InputError("the concept has no language section", where=place)
        for row in _rows(entry, sections):
            yield place, row


def _rows(entry: Element, sections: list[Element]) -> Iterator[dict[str, Any]]:
    source, *targets = sections
    shared: dict[str, Any] = {"term_id": entry.get("id", ""), "source_locale": source.get(_XML_LANG, "")}
    shared |= {k: v for k, v in _own_fields(entry).items() if v}
    shared["domain"] = next((_text(e) for e in entry if e.get("type") == "subjectField"), "")
    words = _terms_of(source)
    shared["source"] = next((w for w, status in words if not status.startswith(("deprecated", "superseded"))), "")
    shared["aliases"] = [w for w, status in words if w != shared["source"] and not status.startswith("deprecated")]
    part = next((_text(e) for e in source.iter() if e.get("type") == "partOfSpeech"), "")
    shared["part_of_speech"] = {"properNoun": "proper"}.get(part, part if part in ("noun", "verb", "adjective") else "")
    for section in targets:
        own = _own_fields(section)
        renderings = _terms_of(section)
        good = [w for w, status in renderings if not status.startswith(("deprecated", "superseded"))]
        row = {**shared, "target_locale": section.get(_XML_LANG, ""), "target": good[0] if good else ""}
        row["forbidden_translations"] = [w for w, status in renderings if status.startswith("deprecated")]
        if row["target_locale"] == "mul":
            row["target_locale"] = "*"
        for name in _LISTS:
            if name in own:
                own[name] = json.loads(own[name])
        yield row | own


def _own_fields(element: Element) -> dict[str, Any]:
    return {kind[len(_OWN) :]: _text(e) for e in element if (kind := e.get("type", "")).startswith(_OWN)}


def _text(element: Element) -> str:
    return "".join(element.itertext())


def _terms_of(section: Element) -> list[tuple[str, str]]:
    """Terms of a language section with their administrative status, `preferredTerm...` first."""
    found = []
    for group in (e for e in section.iter() if e.tag in _TERM):
        status = next((_text(e) for e in group.iter() if e.get("type") == "administrativeStatus"), "")
        found += [(_text(e), status) for e in group.iter() if e.tag == "term"]
    return sorted(found, key=lambda pair: not pair[1].startswith("preferred"))


def _parse(data: bytes, name: str) -> Element:
    builder = TreeBuilder()
    parser = expat.ParserCreate()

    def refuse(*_: object) -> None:
        raise InputError("the XML declares entities", where=name, fix="resolve them before the import")

    def start(tag: str, attributes: dict[str, str]) -> None:
        builder.start(tag.rpartition(":")[2] if ":" in tag else tag, attributes)

    def end(tag: str) -> None:
        builder.end(tag.rpartition(":")[2] if ":" in tag else tag)

    parser.EntityDeclHandler = refuse
    parser.UnparsedEntityDeclHandler = refuse
    parser.SetParamEntityParsing(expat.XML_PARAM_ENTITY_PARSING_NEVER)
    parser.StartElementHandler, parser.EndElementHandler = start, end
    parser.CharacterDataHandler = builder.data
    parser.buffer_text = True
    try:
        parser.Parse(data, True)
    except expat.ExpatError as error:
        raise InputError("the file is not XML", where=f"{name}:{error.lineno}", got=str(error)) from error
    return builder.close()
