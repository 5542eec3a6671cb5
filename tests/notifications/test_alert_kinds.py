import pytest
from django.utils import translation

from notifications.alert_kinds import KINDS, Severity, say_kind, severity_of
from notifications.models import Alert
from notifications.services.alerts import raise_alert
from tests.notifications.test_alert_titles import raised


class TestKinds:
    @pytest.mark.slow
    def test_has_every_kind_that_the_product_raises_and_no_other(self) -> None:
        found = {kind for _, pairs in raised() for kind, _ in pairs}
        # Raised by whoever watches them, with the words of somebody else.
        assert found | {"storage.volume", "engine.down"} == set(KINDS)

    def test_a_kind_of_a_plugin_is_a_warning_and_stands_for_itself(self) -> None:
        assert (severity_of("acme.overheated"), say_kind("acme.overheated")) == (Severity.WARNING, "acme.overheated")

    def test_has_words_in_both_languages(self) -> None:
        english = {kind: say_kind(kind) for kind in KINDS}
        with translation.override("ru"):
            assert [kind for kind in KINDS if say_kind(kind) == english[kind]] == []
        assert len(set(english.values())) == len(KINDS)


@pytest.mark.embedded
@pytest.mark.django_db
class TestSeverity:
    def test_is_written_with_the_alert_and_with_its_repeats(self) -> None:
        pk = raise_alert("engine.down", "engine/redis", "Redis is down")
        raise_alert("sensor.flapping", "sensor/0xA", "Flapping")
        assert list(Alert.objects.order_by("pk").values_list("severity", flat=True)) == [1, 2]
        Alert.objects.update(severity=Severity.NOTICE)  # as a version had it that judged otherwise
        assert raise_alert("engine.down", "engine/redis", "Redis is down") == pk
        assert Alert.objects.get(pk=pk).severity == Severity.CRITICAL
