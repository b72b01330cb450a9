"""Compiled glossaries: built by Ray in blocks, the same matches as without, and never used for other terms."""

import json

import numpy as np
import pytest
from typer.testing import CliRunner

from babelray.errors import IncompleteRun, InputError, IntegrityError
from babelray.glossary.generation import GlossaryGenerations
from babelray.glossary.hints import build_hint_index
from babelray.glossary.match import MatchScope, TermMatcher
from babelray.glossary.store import open_glossaries
from babelray.glossary.terms import Term
from babelray.glossary.vector_cache import NGramVectors
from babelray.index.layout import LAYOUT
from babelray.index.store import open_store
from cli import glossary as command
from jobs import glossary_build
from jobs.glossary_build import build
from models.localizers.registry import build_localizer, compiled, load_terms, profile_of
from models.registry import build_embedder, model_key
from tests.jobs.backfill_worlds import BackfillWorld, terms

pytestmark = [pytest.mark.ray, pytest.mark.usefixtures("ray_cluster")]

TEXTS = ("The backups of Orchard", "invoices and retention periods", "nothing", "Inv oice", "a back-up")


def many():
    """Two source locales, enough terms for several blocks of a small size."""
    german = Term(
        term_id="sicherung", source_locale="de", target_locale="es", source="Sicherung", target="copia",
        kind="custom_translation",
    )  # fmt: skip
    words = [
        Term(
            term_id=f"w{n}", source_locale="en", target_locale="es", source=f"widget {n}", target=f"artilugio {n}",
            kind="custom_translation",
        )
        for n in range(25)
    ]  # fmt: skip
    return [*terms(), german, *words]


@pytest.fixture
def world(tmp_path, monkeypatch):
    monkeypatch.setattr(glossary_build, "BLOCK", 10)
    made = BackfillWorld.create(tmp_path, files=2).with_(hints={"enabled": True, "threshold": 0.6})
    open_glossaries(made.values["localization"]["database"]).commit("g", many())
    return made


def opened(world):
    return GlossaryGenerations(open_store(world.values["store"]), "test")


def found(matcher, text):
    return [(m.term.term_id, m.term.target_locale, m.start, m.end, m.kind, m.rule, m.form) for m in
            matcher.match(text, MatchScope("es")).enforced]  # fmt: skip


def test_what_is_compiled_matches_as_what_is_not(world):
    manifest = build(world.settings)
    assert (manifest.terms, manifest.source_locales) == (31, ("de", "en")) and manifest.forms > 40
    known = load_terms(world.settings, profile_of(world.settings))
    glossary = compiled(world.settings, known)
    key = model_key(world.settings.embedder, world.settings.cache_dir)
    embedder = build_embedder(world.settings.embedder, world.settings.cache_dir)
    for locale in ("en", "de"):
        plain, stored = TermMatcher(known.terms, locale), glossary.matcher(locale)
        assert stored.automaton.patterns == plain.automaton.patterns
        for text in (*TEXTS, "widgets 7", "Die Sicherungen"):
            assert found(stored, text) == found(plain, text)
        index, made = glossary.hint_index(stored, key), build_hint_index(plain, embedder, NGramVectors(key))
        assert index.forms == made.forms and np.allclose(index.vectors, made.vectors, atol=1e-3)
    assert build_localizer(world.settings, "en").matcher.automaton.patterns == manifest_patterns(known)


def manifest_patterns(known):
    return TermMatcher(known.terms, "en").automaton.patterns


def test_it_is_used_for_exactly_its_terms_and_its_model(world):
    build(world.settings)
    known = load_terms(world.settings, profile_of(world.settings))
    glossary = compiled(world.settings, known)
    other = model_key(world.settings.embedder, world.settings.cache_dir).model_copy(update={"name": "other"})
    assert glossary.hint_index(glossary.matcher("en"), other) is None
    assert glossary.matcher("fr").automaton.patterns == 0, "a locale that was not built is made anew"
    open_glossaries(world.values["localization"]["database"]).commit("g", many()[:-1])
    changed = load_terms(world.settings, profile_of(world.settings))
    assert compiled(world.settings, changed) is None


def test_the_backfill_uses_it(world):
    before = world.elsewhere("plain")
    before.run()
    build(world.settings)
    world.run()
    for target in ("es", "de"):
        ours, theirs = ({(o.record_id, o.output, o.hints) for o in one.records(target)} for one in (world, before))
        assert ours == theirs


def test_a_build_that_was_ended_goes_on_and_is_done_once(world, monkeypatch):
    fail = ["unlucky"]
    inner = glossary_build._follow

    def stop_after_forms(plan, store, stage, work, progress):
        if stage == "vectors" and fail:
            fail.clear()
            raise IncompleteRun("ended by the test")
        inner(plan, store, stage, work, progress)

    monkeypatch.setattr(glossary_build, "_follow", stop_after_forms)
    with pytest.raises(IncompleteRun):
        build(world.settings)
    assert opened(world).list() == []
    root = LAYOUT.run("glossary", "x").root.rpartition("/")[0]
    receipts = {p for p, _ in open_store(world.values["store"]).files(root) if "/receipts/forms/" in p}
    assert len(receipts) == 4, "31 terms of two locales in blocks of ten"
    manifest = build(world.settings)
    assert build(world.settings) == manifest and len(opened(world).list()) == 1


def test_generations_are_verified_published_and_rolled_back(world):
    first = build(world.settings)
    open_glossaries(world.values["localization"]["database"]).commit("g", many()[:-1])
    second = build(world.settings)
    one = opened(world)
    assert one.pointer().generation == second.generation and len(one.list()) == 2
    assert one.rollback().generation == first.generation
    with pytest.raises(InputError, match="no earlier"):
        one.rollback()
    file = next(record for record in second.files if "forms-en" in record.path)
    path = open_store(world.values["store"]).local_path(file.path)
    path.write_bytes(path.read_bytes()[:-1] + b"x")
    with pytest.raises(IntegrityError, match="damaged"):
        one.publish(second.generation)
    assert one.pointer().generation == first.generation
    with pytest.raises(InputError, match="no such glossary generation"):
        one.publish("g0")


def test_the_commands(world):
    config = str(world.write_config())

    def run(*arguments):
        done = CliRunner().invoke(command.app, [*arguments, "-c", config], catch_exceptions=False)
        assert done.exit_code == 0, done.output
        return done.stdout

    made = json.loads(run("build", "--json", "--no-publish"))
    assert made["terms"] == 31 and json.loads(run("generations", "--json"))["current"] == ""
    assert "is in force" in run("publish", made["generation"])
    assert json.loads(run("generations", "--json"))["current"] == made["generation"]
    assert made["generation"][:6] in run("generations")


def test_nothing_to_build_is_said(world):
    open_glossaries(world.values["localization"]["database"]).commit("g", [])
    with pytest.raises(InputError, match="hold no term"):
        build(world.settings)
