"""Crash states of files: every moment of a message's life × every subset of what was not synced. None may be bad."""

import itertools
import math
import os
import random
from dataclasses import replace

import pytest

from tests.faults import faulty_file_operations as wrong
from tests.faults.crash_survey import BACK, FOLDER, FOREIGN, LOST, PART, Survey
from tests.faults.file_lifecycles import FOUNDATION, LIVES, Layer, Life
from tests.faults.simulated_disk import Renames

pytestmark = pytest.mark.timeout(1800)

SCALE = float(os.environ.get("DRILL_SCALE", "0.02"))
STATES = int(1_000_000 * SCALE)
ALONE = {**LIVES, "in new folders": FOUNDATION}

WRONG_ORDERS = {
    "written without sync": (Layer(write=wrong.write_without_sync), PART),
    "written without sync of the folder": (Layer(write=wrong.write_without_sync_of_folder), LOST),
    "written in place": (Layer(write=wrong.write_in_place), PART),
    "written and synced after the rename": (Layer(write=wrong.write_and_sync_after_rename), PART),
    "written, folder synced before the rename": (Layer(write=wrong.write_and_sync_folder_before_rename), LOST),
    "written after the old one is deleted": (Layer(write=wrong.write_with_old_one_deleted_first), LOST),
    "written as a draft that looks final": (Layer(write=wrong.write_with_draft_that_looks_final), FOREIGN),
    "moved by rename": (Layer(move=wrong.move_by_rename), LOST),
    "moved by rename, source synced first": (Layer(move=wrong.move_by_rename_with_source_synced_first), LOST),
    "moved by rename, nothing synced": (Layer(move=wrong.move_by_rename_without_sync), BACK),
    "moved without sync between": (Layer(move=wrong.move_without_sync_between), LOST),
    "moved, source synced first": (Layer(move=wrong.move_with_source_synced_first), LOST),
    "moved, source not synced": (Layer(move=wrong.move_without_sync_of_source), BACK),
    "moved by copy without sync": (Layer(move=wrong.move_by_copy), PART),
    "moved by synced copy in place": (Layer(move=wrong.move_by_synced_copy_in_place), PART),
    "moved after the source is deleted": (Layer(move=wrong.move_with_source_deleted_first), LOST),
    "put back by rename": (Layer(put_back=wrong.move_by_rename), LOST),
    "deleted without sync": (Layer(delete=wrong.delete_without_sync), BACK),
    "folder made without sync": (Layer(make_folder=wrong.make_folder_without_sync), FOLDER),
    "folder made, only itself synced": (Layer(make_folder=wrong.make_folder_and_sync_only_itself), FOLDER),
    "folder made, only the last synced": (Layer(make_folder=wrong.make_folder_and_sync_only_the_last_parent), FOLDER),
    "folder that is there trusted": (Layer(make_folder=wrong.make_folder_and_trust_what_is_there), FOLDER),
}


def crossings() -> list[dict[str, Life]]:
    """Lives that cross: each with each, in pieces of different numbers, and some by threes; in no order."""
    lives = list(LIVES.values())
    pairs = itertools.combinations_with_replacement(lives, 2)
    crossing = [_named(pair, pieces) for pair in pairs for pieces in ((2, 1), (3, 2), (3, 3))]
    crossing += [_named(three, (1, 2, 1)) for three in zip(lives, lives[1:], lives[3:], strict=False)]
    random.Random(1).shuffle(crossing)
    return crossing


def _named(lives: tuple[Life, ...], pieces: tuple[int, ...]) -> dict[str, Life]:
    return {name: replace(life, pieces=count) for name, life, count in zip("abc", lives, pieces, strict=False)}


def survey_alone(survey: Survey, *, pieces: int = 2, until: str = "") -> Survey:
    """Crash and kill in each life by itself, until a bad state of this kind is found."""
    for life in ALONE.values():
        survey.crash({"a": replace(life, pieces=pieces)})
        survey.kill("a", replace(life, pieces=pieces))
        if survey.bad[until]:
            break
    return survey


class TestCrashStates:
    def test_no_state_is_bad(self, capsys: pytest.CaptureFixture[str]) -> None:
        survey = survey_alone(Survey(), pieces=4)
        crossing = crossings()
        for lives in crossing[: max(4, math.ceil(len(crossing) * SCALE))]:
            survey.crash(lives)
        with capsys.disabled():
            print(f"\n{survey}")
        assert not survey.bad
        assert survey.states >= STATES

    @pytest.mark.parametrize("renames", [Renames.TORN_ACROSS, Renames.WHOLE])
    def test_no_state_is_bad_where_more_is_kept_of_a_rename(self, renames: Renames) -> None:
        assert not survey_alone(Survey(renames=renames)).bad

    def test_a_bare_rename_moves_safely_only_where_renames_are_whole(self) -> None:
        by_rename = Layer(move=wrong.move_by_rename, put_back=wrong.move_by_rename)
        assert not survey_alone(Survey(by_rename, Renames.WHOLE)).bad
        assert survey_alone(Survey(by_rename, Renames.TORN_ACROSS)).bad


class TestWrongOrders:
    @pytest.mark.parametrize("name", WRONG_ORDERS)
    def test_is_caught(self, name: str) -> None:
        layer, expected = WRONG_ORDERS[name]
        assert survey_alone(Survey(layer), until=expected).bad[expected]
