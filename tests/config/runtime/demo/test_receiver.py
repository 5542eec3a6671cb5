import pytest

from config.runtime.demo.receiver import AWAY_SECONDS, EVERY_SECONDS, FAILING, FAILS, HEALTHY, RECOVERING, answer_to


@pytest.mark.embedded
@pytest.mark.parametrize(
    ("path", "at", "chance", "status"),
    [
        (HEALTHY, 0, FAILS, 204),
        (HEALTHY, 0, FAILS / 2, 500),
        (RECOVERING, EVERY_SECONDS, 1, 503),
        (RECOVERING, EVERY_SECONDS + AWAY_SECONDS, 1, 204),
        (RECOVERING, 2 * EVERY_SECONDS, 1, 503),
        (FAILING, 0, 1, 500),
    ],
)
def test_each_client_answers_in_its_way(path: str, at: float, chance: float, status: int) -> None:
    assert answer_to(path, at=at, chance=chance) == status
