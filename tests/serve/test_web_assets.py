"""What can be told of the page without a browser: its headers, its files, its rules."""

import re

import pytest
from fastapi import FastAPI
from starlette.testclient import TestClient

from serve.web import ASSETS, POLICY, router

SCRIPTS = sorted(ASSETS.glob("*.js"))
PAGE = (ASSETS / "index.html").read_text()


@pytest.fixture(scope="module")
def page():
    app = FastAPI()
    app.include_router(router())
    return TestClient(app)


def test_the_page_comes_with_a_policy_that_lets_no_other_script_or_address_in(page):
    answer = page.get("/")
    assert answer.status_code == 200
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    assert answer.headers["content-security-policy"] == POLICY
    rules = dict(rule.split(" ", 1) for rule in POLICY.split("; "))
    assert rules["default-src"] == rules["frame-ancestors"] == rules["base-uri"] == "'none'"
    assert {rules[name] for name in ("script-src", "style-src", "img-src", "connect-src")} == {"'self'"}
    assert "unsafe" not in POLICY
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["referrer-policy"] == "no-referrer"


@pytest.mark.parametrize("path", sorted(one.name for one in ASSETS.iterdir()))
def test_every_file_is_served_as_what_it_is_and_asked_about_again(page, path):
    answer = page.get(f"/assets/{path}")
    assert answer.content == (ASSETS / path).read_bytes()
    kinds = {"js": "text/javascript", "css": "text/css", "svg": "image/svg+xml", "html": "text/html"}
    assert answer.headers["content-type"].startswith(kinds[path.rpartition(".")[2]])
    again = page.get(f"/assets/{path}", headers={"If-None-Match": answer.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")
    assert page.head(f"/assets/{path}").headers["etag"] == answer.headers["etag"]


@pytest.mark.parametrize(
    "name", ["../__init__.py", "%2e%2e%2f__init__.py", "..%5c__init__.py", "nothing.js", "/etc/passwd"]
)
def test_nothing_else_is_served(page, name):
    assert page.get(f"/assets/{name}").status_code == 404


def test_the_page_names_only_its_own_files_and_has_nothing_inline():
    named = re.findall(r'(?:src|href)="([^"#]+)"', PAGE)
    assert named
    assert all((ASSETS / one.removeprefix("assets/")).is_file() for one in named)
    assert not re.search(r"<style|style=|\son\w+=|javascript:", PAGE)
    assert all("src=" in one for one in re.findall(r"<script[^>]*>", PAGE))


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.name)
def test_scripts_put_text_in_as_text_and_load_nothing_from_elsewhere(path):
    code = path.read_text()
    banned = (
        r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|DOMParser|eval\(|new Function|https?://|localStorage"
    )
    assert re.findall(banned, code) == []
    for one in re.findall(r'from "([^"]+)"', code):
        assert (ASSETS / one.removeprefix("./")).is_file()


@pytest.mark.parametrize("path", sorted(ASSETS.glob("*.css")), ids=lambda path: path.name)
def test_styles_load_nothing(path):
    assert not re.search(r"url\(|@import|@font-face", path.read_text())


def test_every_element_that_a_script_looks_for_is_on_the_page():
    wanted = {name for path in SCRIPTS for name in re.findall(r'byId\("([^"]+)"\)', path.read_text())}
    assert wanted
    assert {name for name in wanted if f'id="{name}"' not in PAGE} == set()


def test_every_reason_for_less_than_everything_has_words():
    from babelray.glossary.records import Failure
    from babelray.retrieval.channels import Channel
    from babelray.retrieval.degradation import Reason

    words = (ASSETS / "words.js").read_text()
    assert [one for one in (*Reason, *Channel, *Failure) if f"  {one}: " not in words] == []
