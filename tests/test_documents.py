"""What the documents at the top say must be true of the tree."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
DOCUMENTS = ("README.md", "ARCHITECTURE.md", "CONTRIBUTING.md")
CODE = r"`((?:babelray|models|jobs|serve|cli|configs|infra|benchmarks|tests|demo)/[\w./-]*)`"
LINK = r"\]\(([\w./-]+)\)"


@pytest.mark.parametrize("name", DOCUMENTS)
def test_every_path_in_a_document_exists(name):
    text = (ROOT / name).read_text(encoding="utf-8")
    named = {*re.findall(CODE, text), *re.findall(LINK, text)}
    assert named
    assert sorted(path for path in named if not (ROOT / path).exists()) == []


def test_every_name_in_the_architecture_stands_in_its_file():
    rows = re.findall(r"^\| (.+?) \| (`[^|]+) \|", (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8"), re.M)
    missing = []
    for abstraction, files in rows:
        places = [ROOT / path for path in re.findall(CODE, files)]
        sources = [one for place in places for one in (place.rglob("*.py") if place.is_dir() else [place])]
        code = "\n".join(one.read_text(encoding="utf-8") for one in sources)
        names = re.findall(r"`([A-Za-z_]+)`", abstraction)
        missing += [name for name in names if not re.search(rf"\b(class|def) {name}\b", code)]
    assert len(rows) > 30
    assert missing == []


def test_every_script_of_the_makefile_exists():
    scripts = re.findall(r"(?:benchmarks|demo)/\w+\.py", (ROOT / "Makefile").read_text(encoding="utf-8"))
    assert scripts
    assert [path for path in scripts if not (ROOT / path).exists()] == []
