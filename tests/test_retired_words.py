from fnmatch import fnmatch
from pathlib import Path

import pytest

from tests import retired_words
from tests.retired_words import ACROSS_MODULES, find_problems


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
            "tests/sensors/intake/test_apply.py",
            "tests/sensors/ingest/test_applications.py",
            "tests/sensors/api/registries/test_rules.py",
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
            "tests/sensors/ingest/test_apply.py",
            "tests/sensors/ingest/apply/test_order.py",
            "tests/sensors/test_ingest.py",
            "tests/sensors/ingest/test_hostile.py",
            "tests/processes/workflows/corpus/test_oracle.py",
            "notifications/services/retention.py",
        ],
    )
    def test_others_are_left_alone(self, name: str) -> None:
        assert list(find_problems(name)) == []


class TestAcrossModules:
    @pytest.mark.parametrize("pattern", [pattern for pattern, _ in ACROSS_MODULES])
    def test_each_is_needed(self, pattern: str, monkeypatch: pytest.MonkeyPatch) -> None:
        meant = [name for name in map(str, Path("tests").rglob("test_*.py")) if fnmatch(name, f"tests/{pattern}")]
        monkeypatch.setattr(retired_words, "ACROSS_MODULES", ())
        assert [name for name in meant if list(find_problems(name))] != []
