from processes.workflows.engine.diagram.colours import OFTEN
from processes.workflows.engine.diagram.heat import Heat, place_heat
from processes.workflows.engine.diagram.picture import Bounds

HEAT = Heat(OFTEN[0], "12×", "3", "entered 12 times")
TASK, EVENT = Bounds(100, 100, 100, 80), Bounds(100, 100, 36, 36)


class TestPlaceHeat:
    def test_lies_across_the_border_of_a_task_and_above_an_event(self) -> None:
        assert place_heat(HEAT, TASK).bottom == 104
        assert place_heat(HEAT, EVENT).bottom < 100

    def test_does_not_hide_a_name_that_stands_above(self) -> None:
        assert place_heat(HEAT, EVENT, Bounds(90, 80, 60, 14)).y > 136
        assert place_heat(HEAT, EVENT, Bounds(90, 140, 60, 14)).bottom < 100
