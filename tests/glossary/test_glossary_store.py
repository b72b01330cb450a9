import os

import pytest

from babelray.errors import ConfigError, InputError, PublishConflict, UpstreamError
from babelray.glossary.store import open_glossaries
from babelray.glossary.terms import Term


def term(source, target="x", **more):
    values = {"term_id": source, "source_locale": "en", "target_locale": "es", "kind": "custom_translation"} | more
    return Term(source=source, target=target, **values)


SERVERS = {"postgresql": "TEST_POSTGRESQL_URL", "mariadb": "TEST_MARIADB_URL"}
"""Database -> variable that names an empty database of a real server, as an SQLAlchemy URL."""


@pytest.fixture(params=["sqlite", *(pytest.param(name, marks=pytest.mark.services) for name in SERVERS)])
def url(request, tmp_path):
    if request.param == "sqlite":
        yield f"sqlite:///{tmp_path}/deep/down/glossaries.sqlite"
        return
    server = os.environ.get(SERVERS[request.param])
    if not server:
        pytest.skip(f"{SERVERS[request.param]} does not name a {request.param} server")
    yield server
    with open_glossaries(server)._engine.begin() as connection:
        for table in ("babelray_glossary_terms", "babelray_glossary_versions"):
            connection.exec_driver_sql(f"drop table {table}")


@pytest.fixture
def store(url):
    return open_glossaries(url)


def test_versions_are_immutable_and_have_a_history(store):
    first = store.commit("k8s", [term("node", "nodo"), term("pod", "pod")], note="start")
    second = store.commit("k8s", [term("node", "nudo"), term("image", "imagen")], note="edit")
    assert (first.version, second.version, second.terms) == (1, 2, 2)
    assert {t.source: t.target for t in store.terms("k8s", 1)} == {"node": "nodo", "pod": "pod"}
    assert {t.source: t.target for t in store.terms("k8s")} == {"node": "nudo", "image": "imagen"}
    assert [(i.version, i.note) for i in store.history("k8s")] == [(2, "edit"), (1, "start")]
    assert [i.version for i in store.glossaries()] == [2]
    third = store.commit("k8s", store.terms("k8s", 1))
    assert third.digest == first.digest and third.version == 3


def test_the_same_terms_make_no_new_version(store):
    terms = [term("b"), term("a")]
    assert store.commit("g", terms) == store.commit("g", terms[::-1])
    assert store.commit("empty", []).terms == 0
    assert store.terms("empty") == []


def test_any_script_and_long_text_survive(store):
    long = term("😀 状態管理 " + "x" * 1000, "ё" * 1024, term_id="long", hint="h" * 20_000)
    store.commit("g", [long, term("ISTANBUL"), term("ıstanbul"), term("a"), term("A"), term("a ")])
    assert set(store.terms("g")) == {long, *(term(s) for s in ("ISTANBUL", "ıstanbul", "a", "A", "a "))}


def test_diff(store):
    store.commit("g", [term("a", "1"), term("b", "1")])
    store.commit("g", [term("b", "2"), term("c", "1")])
    diff = store.diff("g", 1, 2)
    assert [t.source for t in diff.added] == ["c"]
    assert [t.source for t in diff.removed] == ["a"]
    assert [(a.target, b.target) for a, b in diff.changed] == [("1", "2")]
    back = store.diff("g", 2, 1)
    assert [t.source for t in back.added] == ["a"] and [t.source for t in back.removed] == ["c"]


def test_only_the_difference_is_stored(store):
    many = [term(f"t{i}") for i in range(1200)]
    store.commit("g", many)
    store.commit("g", [*many[1:], term("new")])
    with store._engine.connect() as connection:
        assert connection.exec_driver_sql("select count(*) from babelray_glossary_terms").scalar() == 1201
    assert len(store.terms("g", 1)) == len(store.terms("g", 2)) == 1200
    store.commit("g", [])
    assert len(store.terms("g", 2)) == 1200 and store.terms("g") == []


def test_a_writer_that_saw_an_older_version_is_refused(store, url):
    store.commit("g", [term("a")], expected=0)
    other = open_glossaries(url)
    other.commit("g", [term("b")], expected=1)
    with pytest.raises(PublishConflict, match="version 2"):
        store.commit("g", [term("c")], expected=1)
    assert [t.source for t in store.terms("g")] == ["b"]


def test_bad_input(store):
    with pytest.raises(InputError, match="given twice"):
        store.commit("g", [term("a", "1"), term("a", "2")])
    with pytest.raises(InputError, match="unusable glossary name"):
        store.commit("Bad Name", [])
    store.commit("g", [])
    with pytest.raises(InputError, match="allowed: g"):
        store.terms("h")
    with pytest.raises(InputError, match="1 to 1"):
        store.terms("g", 2)


@pytest.mark.parametrize(
    ("url", "error"),
    [
        ("not a url", ConfigError),
        ("nodialect://x", ConfigError),
        ("sqlite:////proc/nowhere.sqlite", UpstreamError),
    ],
)
def test_databases_that_cannot_be_opened(url, error):
    with pytest.raises(error):
        open_glossaries(url)


def test_a_password_never_shows():
    with pytest.raises((ConfigError, UpstreamError)) as caught:
        open_glossaries("mysql+pymysql://user:hunter2@127.0.0.1:9/x")
    assert "hunter2" not in str(caught.value)
