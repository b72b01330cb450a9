"""No channel, cache, replay or passage shows a row outside the scope, and an exact search misses none inside it."""

import numpy as np
import pytest

from babelray.index import open_segment
from babelray.index.row_access import RowAccess
from babelray.retrieval.channels import Channel
from tests.retrieval.scope_worlds import ScopeWorld


@pytest.mark.parametrize(("kind", "wide_share"), [("flat", open_segment.WIDE_SHARE), ("flat", 0.02), ("ivf_sq8", 0.1)])
def test_random_questions_under_random_scopes(tmp_path, monkeypatch, kind, wide_share):
    monkeypatch.setattr(open_segment, "WIDE_SHARE", wide_share)
    world = ScopeWorld(tmp_path, 3, kind)
    for _ in range(4):
        for _ in range(16):
            world.ask()
        world.change_rights()
    world.close()
    total = world.tally
    assert (total.leaked, total.missed) == (0, 0)
    assert total.asked == 64 and min(total.shown, total.passages) > 60 and total.refused > 0 and total.cached > 0
    assert all(total.channels[str(channel)] > 0 for channel in Channel), "a channel that finds nothing proves nothing"


def asked(folder, questions=12):
    world = ScopeWorld(folder, 5)
    for _ in range(questions):
        world.ask()
    world.close()
    return world.tally


def test_a_leak_would_be_seen(tmp_path, monkeypatch):
    def everything(access, scope):
        return np.full((access.rows + 7) // 8, 255, np.uint8), access.rows

    monkeypatch.setattr("babelray.index.vectors.check_bitmap", lambda bits, rows: None)
    monkeypatch.setattr(RowAccess, "bitmap", everything)
    monkeypatch.setattr(RowAccess, "check", lambda access, rows, scope: None)
    assert asked(tmp_path).leaked > 0


def test_a_missed_row_would_be_seen(tmp_path, monkeypatch):
    honest = RowAccess.bitmap

    def one_less(access, scope):
        bits, allowed = honest(access, scope)
        if allowed:
            bits = bits.copy()
            byte = int(np.flatnonzero(bits)[0])
            bits[byte] &= bits[byte] - np.uint8(1)
            allowed -= 1
        return bits, allowed

    monkeypatch.setattr(RowAccess, "bitmap", one_less)
    assert asked(tmp_path).missed > 0
