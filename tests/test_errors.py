import pickle
from concurrent.futures import ProcessPoolExecutor

import pytest

from babelray import errors
from babelray.errors import BabelrayError, IncompleteRun, PublishConflict

EXIT_CODES = {
    "InputError": 2,
    "ConfigError": 2,
    "ModelKeyMismatch": 3,
    "IntegrityError": 4,
    "PublishConflict": 5,
    "GateFailed": 6,
    "IncompleteRun": 7,
    "AccessDenied": 8,
    "UpstreamError": 9,
}


def test_exit_codes_are_the_documented_ones() -> None:
    found = {cls.__name__: cls.exit_code for cls in BabelrayError.__subclasses__() if cls.__module__ == errors.__name__}
    assert found == EXIT_CODES


def test_message_says_what_where_got_allowed_and_fix() -> None:
    error = PublishConflict("pointer moved", where="current.json", got="g1", allowed="g0", fix="run publish again")
    assert str(error).splitlines() == [
        "pointer moved",
        "  where: current.json",
        "  got: g1",
        "  allowed: g0",
        "  fix: run publish again",
    ]


def test_empty_parts_are_left_out_of_the_message() -> None:
    assert str(IncompleteRun("two units failed")) == "two units failed"


@pytest.mark.parametrize("cls", BabelrayError.__subclasses__())
def test_errors_cross_process_borders_whole(cls: type[BabelrayError]) -> None:
    error = cls("what", where="w", got=3, allowed=[1, 2], fix="f")
    copy = pickle.loads(pickle.dumps(error))
    assert type(copy) is cls
    assert (copy.what, copy.where, copy.got, copy.allowed, copy.fix) == ("what", "w", 3, [1, 2], "f")
    assert str(copy) == str(error)


def _raise() -> None:
    raise IncompleteRun("from a worker", fix="resume")


def test_an_error_raised_in_a_worker_arrives_as_itself() -> None:
    with ProcessPoolExecutor(1) as pool, pytest.raises(IncompleteRun, match="from a worker") as caught:
        pool.submit(_raise).result()
    assert caught.value.fix == "resume"
