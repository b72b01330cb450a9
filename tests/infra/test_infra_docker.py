"""Images and the compose stack: valid by their schemas, closed to the outside, and true to the tree."""

import io
import json
import re
import stat
import subprocess
import tomllib
from importlib.resources import files
from pathlib import Path

import jsonschema
import pathspec
import pytest
import yaml
from dockerfile_parse import DockerfileParser

from babelray.config import load_settings
from tests.infra.infra_files import INFRA, ROOT, found, strings
from tests.infra.shown_commands import commands_in_manifest

DOCKERFILES = sorted((INFRA / "docker").glob("Dockerfile.*"))
COMPOSE = INFRA / "docker" / "compose.yaml"
STACK = yaml.safe_load(COMPOSE.read_text(encoding="utf-8"))
PINNED = re.compile(r":v?\d+\.\d+[\w.-]*$")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
OURS = "registry.example.com/babelray"


def parsed(path: Path) -> DockerfileParser:
    return DockerfileParser(fileobj=io.BytesIO(path.read_bytes()))


def steps(path: Path, instruction: str) -> list[str]:
    return [one["value"] for one in parsed(path).structure if one["instruction"] == instruction]


@pytest.mark.parametrize("path", DOCKERFILES, ids=lambda path: path.name)
def test_base_images_are_pinned_and_the_last_user_is_not_root(path):
    bases = parsed(path).parent_images
    assert len(bases) == 2
    assert all(PINNED.search(base) for base in bases)
    assert len(set(bases)) == 1
    assert re.fullmatch(r"[1-9]\d*:[1-9]\d*", steps(path, "USER")[-1])
    assert steps(path, "HEALTHCHECK")


@pytest.mark.parametrize("path", DOCKERFILES, ids=lambda path: path.name)
def test_what_an_image_copies_is_in_the_tree_and_in_the_context(path):
    ignored = pathspec.PathSpec.from_lines("gitignore", (ROOT / ".dockerignore").read_text().splitlines())
    copied = [value.split() for value in steps(path, "COPY") if "--from" not in value]
    sources = [one for words in copied for one in words[:-1]]
    assert sources
    for source in sources:
        assert (ROOT / source).exists()
        files_below = [ROOT / source] if (ROOT / source).is_file() else (ROOT / source).rglob("*.*")
        kept = [one for one in files_below if not ignored.match_file(one.relative_to(ROOT).as_posix())]
        assert kept, f"{source} is kept out of the context by .dockerignore"


@pytest.mark.parametrize("path", DOCKERFILES, ids=lambda path: path.name)
def test_every_package_of_the_project_is_in_the_images(path):
    packages = {name.partition(".")[0] for name in PROJECT["tool"]["setuptools"]["packages"]}
    assert packages <= {word.rstrip("/") for value in steps(path, "COPY") for word in value.split()}


def test_an_installed_wheel_holds_every_package_and_every_data_file():
    """The images install no working tree: what is not listed is missing there and nowhere else."""
    listed = set(PROJECT["tool"]["setuptools"]["packages"])
    roots = {name.partition(".")[0] for name in listed}
    modules = [one for root in roots for one in (ROOT / root).rglob("*.py")]
    assert {".".join(one.parent.relative_to(ROOT).parts) for one in modules} == listed
    patterns = PROJECT["tool"]["setuptools"]["package-data"]["*"]
    others = [
        one for root in roots for one in (ROOT / root).rglob("*") if one.is_file() and "__pycache__" not in one.parts
    ]
    left_out = [one for one in others if one.suffix != ".py" and not any(one.match(each) for each in patterns)]
    assert left_out == []


@pytest.mark.parametrize("path", DOCKERFILES, ids=lambda path: path.name)
def test_extras_that_an_image_installs_exist_and_bring_what_the_stack_needs(path):
    (install,) = [value for value in steps(path, "RUN") if "pip install" in value]
    extras = set(re.search(r"\.\[([\w,]+)\]", install).group(1).split(","))
    assert extras <= PROJECT["project"]["optional-dependencies"].keys()
    assert {"s3", "databases", "bundled"} <= extras
    assert "-c constraints.txt" in install


def test_the_context_leaves_out_what_is_private():
    ignored = pathspec.PathSpec.from_lines("gitignore", (ROOT / ".dockerignore").read_text().splitlines())
    for path in (".git/config", "infra/docker/secrets/jwt_secret", ".babelray/x", ".env", "babelray/__pycache__/a.pyc"):
        assert ignored.match_file(path), path


def test_both_images_hold_one_python():
    versions = {re.search(r"python:?(3\.\d+)", path.read_text(encoding="utf-8")).group(1) for path in DOCKERFILES}
    assert len(versions) == 1


def test_the_stack_is_valid_by_the_schema_of_compose():
    schema = json.loads(files("check_jsonschema").joinpath("builtin_schemas/vendor/compose-spec.json").read_text())
    jsonschema.validate(STACK, schema)


def test_images_are_pinned():
    images = {one["image"] for one in STACK["services"].values()}
    assert len(images) >= 5
    assert all(PINNED.search(image) for image in images)
    version = PROJECT["project"]["version"]
    assert {image for image in images if image.startswith(OURS)} == {f"{OURS}:{version}-cpu"}


def test_nothing_is_published_beyond_loopback():
    published = [port for one in STACK["services"].values() for port in one.get("ports", [])]
    assert published
    assert all(re.fullmatch(r"127\.0\.0\.1:\d+:\d+", port) for port in published)
    # Stores, databases and metrics are on a network without a way in or out.
    assert STACK["networks"]["inside"]["internal"] is True
    closed = {name for name, one in STACK["services"].items() if one["networks"] == ["inside"]}
    assert {"seaweedfs", "mariadb", "prometheus"} <= closed
    assert all("ports" not in STACK["services"][name] for name in closed)


def test_services_that_stay_are_asked_whether_they_are_well():
    for name, one in STACK["services"].items():
        if one.get("restart") == "unless-stopped":
            assert "healthcheck" in one or one["image"].startswith(OURS), name
        else:
            assert one["healthcheck"] == {"disable": True}, name


def test_our_containers_can_gain_no_rights():
    for name, one in STACK["services"].items():
        if one["image"].startswith(OURS):
            assert one["cap_drop"] == ["ALL"], name
            assert one["security_opt"] == ["no-new-privileges:true"], name


def test_what_is_mounted_from_the_tree_exists():
    volumes = [volume.split(":")[0] for one in STACK["services"].values() for volume in one.get("volumes", [])]
    relative = [volume for volume in volumes if volume.startswith(".")]
    assert relative
    assert [volume for volume in relative if not (COMPOSE.parent / volume).exists()] == []
    assert {volume for volume in volumes if not volume.startswith(".")} == set(STACK["volumes"])


def test_secrets_are_files_that_the_script_makes(tmp_path):
    script = tmp_path / "secrets.sh"
    script.write_bytes((INFRA / "docker" / "secrets.sh").read_bytes())
    subprocess.run(["bash", str(script)], check=True)
    made = {one.name: one.read_text() for one in (tmp_path / "secrets").iterdir()}
    assert stat.S_IMODE((tmp_path / "secrets").stat().st_mode) == 0o700
    assert {Path(one["file"]).name for one in STACK["secrets"].values()} <= made.keys()
    assert made["s3_key"] in made["aws_credentials"] and made["s3_key"] in made["seaweedfs_s3.json"]
    assert made["mariadb_password"] in made["mariadb_client.cnf"]
    assert len({made[name] for name in ("s3_key", "mariadb_password", "grafana_password", "jwt_secret")}) == 4
    assert all(len(made[name]) == 64 for name in ("s3_key", "mariadb_password", "jwt_secret"))
    subprocess.run(["bash", str(script)], check=True)
    assert {one.name: one.read_text() for one in (tmp_path / "secrets").iterdir()} == made


def test_secrets_that_services_use_are_declared_and_mounted_where_they_are_read():
    for name, one in STACK["services"].items():
        declared = set(one.get("secrets", []))
        assert declared <= STACK["secrets"].keys()
        read = {match for text in strings(one) for match in re.findall(r"/run/secrets/([\w.]+)", text)}
        assert read <= declared, name


def test_settings_of_the_jobs_agree_with_the_stack():
    settings = load_settings(ROOT / "configs/reindex-s3.yaml", environ=_environment())
    host = re.search(r"endpoint_override=([\w-]+):(\d+)", settings.store)
    assert host.group(1) in STACK["services"]
    assert f"-s3.port={host.group(2)}" in STACK["services"][host.group(1)]["command"]
    assert re.search(r"@?([\w-]+)/babelray", settings.localization.database).group(1) in STACK["services"]
    assert "password" not in settings.localization.database
    named = [word for shown in commands_in_manifest(COMPOSE) for word in shown.words if word.startswith("configs/")]
    assert "configs/reindex-s3.yaml" in named


def _environment() -> dict[str, str]:
    (shared,) = {tuple(sorted(one["environment"].items())) for one in STACK["services"].values() if "profiles" in one}
    return dict(shared)


def test_no_file_of_infra_holds_a_secret():
    literal = re.compile(r"(?i)(password|secret|token|api[_-]?key)\w*\s*[:=]\s*['\"]?(?!\s*$)([\w/+-]{6,})['\"]?\s*$")
    allowed = re.compile(r"/run/secrets/|secrets/|/etc/babelray/|^babelray-|^false$|^true$|^jwt_secret$")
    for path in [*INFRA.rglob("*"), *(ROOT / "configs").glob("*.yaml")]:
        if (
            path.is_file()
            and "secrets" not in path.relative_to(INFRA if path.is_relative_to(INFRA) else ROOT).parts[:-1]
        ):
            for line in path.read_text(encoding="utf-8").splitlines():
                match = literal.search(line)
                assert match is None or allowed.search(match.group(2)), f"{path.name}: {line.strip()}"
            assert "PRIVATE KEY" not in path.read_text(encoding="utf-8")
            assert not re.search(r"AKIA[0-9A-Z]{16}", path.read_text(encoding="utf-8"))
    assert list(found(STACK, "MARIADB_PASSWORD")) == []
