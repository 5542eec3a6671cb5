import pytest

from tests.retired_words import find_problems


class TestFindProblems:
    @pytest.mark.parametrize(
        "name",
        [
            "sensors/services/telling.py",
            "processes/exchange/placing.py",
            "config/common/moments.py",
            "config/hearing/views.py",
            "notifications/services/keep_alive.py",
            "sensors/ingest/applying.py",
        ],
    )
    def test_a_retired_word_or_a_gerund_is_named(self, name: str) -> None:
        assert [problem.partition(":")[0] for problem in find_problems(name)][:1] == [name]

    @pytest.mark.parametrize(
        "name",
        [
            "config/settings.py",
            "config/common/background/ring.py",
            "sensors/migrations/0006_steady_hearing.py",
            "tests/keeping.py",
            "notifications/services/retention.py",
        ],
    )
    def test_others_are_left_alone(self, name: str) -> None:
        assert list(find_problems(name)) == []
