"""The reindex job over a store in S3, against a real server; what it writes is what it writes into a folder."""

import shutil
import subprocess
import sys

import pytest

from babelray.index.cache import materialize
from babelray.index.digests import verify_file
from babelray.index.layout import LAYOUT
from tests.jobs.job_worlds import english
from tests.jobs.test_reindex import found, scope

pytestmark = [pytest.mark.ray, pytest.mark.services, pytest.mark.usefixtures("ray_cluster")]


@pytest.fixture
def worlds(world, new_s3_store):
    """The same corpus and settings, into a folder and into a bucket."""
    return world, world.with_(store=new_s3_store())


def content_digests(world):
    return [segment.content_digest for segment in world.catalog().show(world.current()).segments]


def test_a_bucket_holds_what_a_folder_would(worlds):
    folder, bucket = worlds
    for world in worlds:
        summary = world.run()
        assert (summary.documents, summary.published, summary.failed) == (22, True, {})
    assert bucket.shards() == folder.shards() and len(bucket.shards()) > 2
    assert content_digests(bucket) == content_digests(folder)
    for who in (scope("acme"), scope("acme", "staff"), scope("other"), scope("nobody")):
        assert found(bucket, english(102), who) == found(folder, english(102), who)


def test_an_upgrade_reuses_what_is_prepared_and_is_rolled_back(worlds):
    _, bucket = worlds
    first = bucket.run()
    assert bucket.run().embedded_now == 0
    upgraded = bucket.with_(embedder={"dimension": 16})
    second = upgraded.run()
    assert second.generation != first.generation and bucket.current() == second.generation
    assert (second.prepared_now, second.embedded_now) == (0, second.units)
    bucket.catalog().rollback()
    assert bucket.current() == first.generation


def test_searches_read_a_verified_copy_and_mend_it(worlds):
    _, bucket = worlds
    bucket.run()
    first = found(bucket, english(4), scope("acme"))
    manifest = bucket.catalog().show(bucket.current())
    segment = manifest.segments[0]
    layout = LAYOUT.index("trip").generation(manifest.generation).segment(segment.name)
    copy = materialize(bucket.store, layout, segment, bucket.settings.cache_dir)
    assert copy.is_relative_to(bucket.settings.cache_dir)
    name, record = next(iter(sorted(segment.files.items())))
    (copy / name).write_bytes(b"rotten")
    assert found(bucket, english(4), scope("acme")) == first
    verify_file(copy / name, record)
    shutil.rmtree(bucket.settings.cache_dir)
    assert found(bucket, english(4), scope("acme")) == first


def test_the_command_line_works_on_a_bucket(worlds):
    _, bucket = worlds
    bucket.run()
    shown = subprocess.run(
        [sys.executable, "-m", "cli.main", "generations", "list", "--config", str(write_config(bucket))],
        capture_output=True,
        text=True,
        check=True,
    )
    assert bucket.current() in shown.stdout


def write_config(world):
    path = world.with_(store="s3").write_config()
    path.write_text(path.read_text().replace("store: s3", f"store: {world.settings.store}"))
    return path
