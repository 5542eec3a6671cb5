from collections.abc import Callable

import pytest
from django.utils.module_loading import import_string

from config.schedule import SCHEDULE, Upkeep, get_upkeep

each_upkeep = pytest.mark.parametrize("upkeep", SCHEDULE, ids=lambda upkeep: upkeep.name)


class TestSchedule:
    @each_upkeep
    def test_every_entry_names_a_function(self, upkeep: Upkeep) -> None:
        assert isinstance(import_string(upkeep.function), Callable)  # type: ignore[arg-type]

    @each_upkeep
    @pytest.mark.django_db(transaction=True, databases=["default", "reader_main"])
    @pytest.mark.embedded
    def test_every_entry_may_run_twice(self, upkeep: Upkeep) -> None:
        assert (upkeep.run(), upkeep.run()) == (None, None)  # type: ignore[func-returns-value]

    def test_names_are_unique_and_every_entry_says_what_it_is_for(self) -> None:
        assert len({upkeep.name for upkeep in SCHEDULE}) == len(SCHEDULE)
        assert all(upkeep.sentence.endswith(".") for upkeep in SCHEDULE)

    def test_what_is_not_in_the_table_is_not_found(self) -> None:
        with pytest.raises(StopIteration):
            get_upkeep("nothing")
