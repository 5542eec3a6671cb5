from processes.coordination.protocol.pace import Pace


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


class TestPace:
    def test_allows_a_burst_and_then_so_many_in_a_second(self) -> None:
        clock = Clock()
        pace = Pace(20, burst=100, most=500, clock=clock)
        assert pace.allowed() == 100
        pace.spend(100)
        assert pace.allowed() == 0
        clock.now = 2.0
        assert pace.allowed() == 40
        clock.now = 60.0
        assert pace.allowed() == 100

    def test_allows_twice_as_many_as_have_helped_up_to_the_most(self) -> None:
        pace = Pace(20, burst=100, most=500, clock=Clock())
        pace.spend(100)
        pace.speed_up(90)
        assert pace.allowed() == 180
        pace.spend(180)
        assert pace.allowed() == 0
        pace.speed_up(400)
        assert pace.allowed() == 500
