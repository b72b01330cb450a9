"""What binds a translator, as prompt text or as structured JSON; as placeholders: `babelray.glossary.marks`.

Two classes of term and their order are kept in both: what stays verbatim, then what has one translation, then
the product's instructions, then its voice.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from babelray.glossary.match import EnforcedMatch
from babelray.glossary.profile import EngineProfile
from babelray.glossary.terms import Term, TermKind

PROMPT_VERSION = "constraints-1"
"""Changes whenever the same constraints give another prompt."""

_HEADER = """\
Translate from {source} to {target}.

The rules below are listed by precedence: an earlier block overrides a later one and your own preference.
Text between {{braces}}, <tags> and `code` is part of a program: copy it unchanged."""
_VERBATIM = """\
1. VERBATIM TERMS. Copy them exactly as written here, in the {target} text too. Never translate, inflect or respell \
them."""
_CUSTOM = """\
2. REQUIRED TRANSLATIONS. Wherever the left side occurs, the right side is its only translation, even if you know a \
better one."""
_INFLECT = "   Inflect the right side as the grammar of the sentence asks, but keep its words."
_EXACT = "   Use the right side exactly as written."
_INSTRUCTIONS = "3. INSTRUCTIONS."
_VOICE = "4. BRAND VOICE."


@dataclass(frozen=True, slots=True)
class TermConstraint:
    """One term as it is put to a translator.

    Attributes:
        source: As the glossary writes it.
        surfaces: The words of the text that stand for it, other than `source`.
    """

    term_id: str
    source: str
    rendering: str
    surfaces: tuple[str, ...]
    forbidden: tuple[str, ...]
    hint: str


@dataclass(frozen=True, slots=True)
class Constraints:
    """All that binds one request. Blocks are in the order of their first occurrence, without repeats."""

    source_locale: str
    target_locale: str
    verbatim: tuple[TermConstraint, ...]
    custom: tuple[TermConstraint, ...]
    instructions: tuple[str, ...] = ()
    voice: str = ""
    inflect_targets: bool = False

    @property
    def term_ids(self) -> frozenset[str]:
        """Terms that were retrieved: what a scorer needs to tell a miss of retrieval from one of the translator."""
        return frozenset(c.term_id for c in (*self.verbatim, *self.custom))


def constraints_from_matches(
    matches: Iterable[EnforcedMatch], source_locale: str, target_locale: str, profile: EngineProfile | None = None
) -> Constraints:
    """Constraints of the selected matches of one or more strings that are translated together."""
    surfaces: dict[str, list[str]] = {}
    terms: dict[str, Term] = {}
    for match in matches:
        terms.setdefault(match.term.term_id, match.term)
        seen = surfaces.setdefault(match.term.term_id, [])
        if match.surface != match.term.source and match.surface not in seen:
            seen.append(match.surface)
    return _build(terms.values(), surfaces, source_locale, target_locale, profile)


def constraints_from_terms(
    terms: Iterable[Term], source_locale: str, target_locale: str, profile: EngineProfile | None = None
) -> Constraints:
    """Constraints of whole terms, for the mode `preload`."""
    return _build(terms, {}, source_locale, target_locale, profile)


def _build(
    terms: Iterable[Term], surfaces: dict[str, list[str]], source: str, target: str, profile: EngineProfile | None
) -> Constraints:
    blocks: dict[TermKind, list[TermConstraint]] = {kind: [] for kind in TermKind}
    for term in terms:
        blocks[term.kind].append(
            TermConstraint(
                term.term_id,
                term.source,
                term.rendering,
                tuple(surfaces.get(term.term_id, ())),
                term.forbidden_translations,
                term.hint,
            )
        )
    return Constraints(
        source,
        target,
        tuple(blocks[TermKind.NON_TRANSLATABLE]),
        tuple(blocks[TermKind.CUSTOM_TRANSLATION]),
        profile.instructions_for(target) if profile else (),
        profile.brand_voice if profile else "",
        profile.allows_inflection(target) if profile else False,
    )


def render_prompt(constraints: Constraints) -> str:
    """System prompt text. The same constraints always give the same text; empty blocks are left out, numbers stay."""
    c = constraints
    blocks = [_HEADER.format(source=c.source_locale, target=c.target_locale)]
    if c.verbatim:
        blocks.append("\n".join([_VERBATIM.format(target=c.target_locale), *(_verbatim_line(t) for t in c.verbatim)]))
    if c.custom:
        manner = _INFLECT if c.inflect_targets else _EXACT
        blocks.append("\n".join([_CUSTOM, manner, *(_custom_line(t) for t in c.custom)]))
    if c.instructions:
        blocks.append("\n".join([_INSTRUCTIONS, *(f"- {_one_line(rule)}" for rule in c.instructions)]))
    if c.voice:
        blocks.append(f"{_VOICE}\n{c.voice.strip()}")
    return "\n\n".join(blocks) + "\n"


def _verbatim_line(term: TermConstraint) -> str:
    return f'- "{_one_line(term.rendering)}"{_details(term)}'


def _custom_line(term: TermConstraint) -> str:
    return f'- "{_one_line(term.source)}" -> "{_one_line(term.rendering)}"{_details(term)}'


def _details(term: TermConstraint) -> str:
    notes = []
    if term.surfaces:
        notes.append("in the text: " + ", ".join(f'"{_one_line(s)}"' for s in term.surfaces))
    if term.forbidden:
        notes.append("never: " + ", ".join(f'"{_one_line(f)}"' for f in term.forbidden))
    if term.hint:
        notes.append(_one_line(term.hint))
    return f" ({'; '.join(notes)})" if notes else ""


def _one_line(text: str) -> str:
    """Glossary text is data: it may not begin a line of its own in the prompt, nor close its quotes."""
    return " ".join(text.split()).replace('"', "'")


def as_json(constraints: Constraints) -> dict[str, Any]:
    """The same as plain JSON values, keys in a fixed order."""

    def block(terms: Sequence[TermConstraint]) -> list[dict[str, Any]]:
        return [
            {
                "term_id": t.term_id, "source": t.source, "target": t.rendering, "surfaces": list(t.surfaces),
                "forbidden": list(t.forbidden), "hint": t.hint,
            }
            for t in terms
        ]  # fmt: skip

    return {
        "version": PROMPT_VERSION,
        "source_locale": constraints.source_locale,
        "target_locale": constraints.target_locale,
        "precedence": ["verbatim", "custom", "instructions", "voice"],
        "verbatim": block(constraints.verbatim),
        "custom": block(constraints.custom),
        "inflect_targets": constraints.inflect_targets,
        "instructions": list(constraints.instructions),
        "voice": constraints.voice,
    }
