from typing import Any

import pytest
from django.db import IntegrityError, connections, router, transaction
from django.utils import timezone

from processes.coordination import models as writer
from processes.coordination.reader import models as reader
from processes.coordination.schema.entities import (
    CLIENT,
    DUMMY_ITEM,
    DUMMY_NODE,
    SENSOR_LINK,
    Entity,
    type_names,
)
from processes.coordination.schema.fixed_rows import NUMBERS

pytestmark = pytest.mark.embedded


class TestTypeNames:
    def test_are_numbered_in_the_order_of_registration(self) -> None:
        names = type_names()
        assert list(names) == list(range(1, 16))
        assert [names[number] for number in (1, 2, 3, 4, 7)] == [
            "DummyItemMain.Insert",
            "DummyItemMain.Update",
            "DummyItemMain.Delete",
            "DummyNodeMain.Insert",
            "SensorMain.Insert",
        ]


class TestTouched:
    def test_is_the_row(self) -> None:
        assert DUMMY_ITEM.touched(1, None, {"name": "a"}) == {("DummyItem", "1")}

    def test_is_what_the_row_refers_to_before_and_after(self) -> None:
        keys = DUMMY_NODE.touched(1, {"parent": 2}, {"parent": 3})
        assert {("DummyNode", "1"), ("DummyNode", "2"), ("DummyNode", "3")} < keys
        linked = SENSOR_LINK.touched("0xA:5", None, {"sensor": "0xA", "client": 5})
        assert linked == {("SensorLink", "0xA:5"), ("Sensor", "0xA"), ("Client", "5")}

    def test_moves_of_one_tree_depend_on_each_other(self) -> None:
        first = DUMMY_NODE.touched(1, {"parent": None}, {"parent": 2})
        second = DUMMY_NODE.touched(3, {"parent": 4}, {"parent": None})
        assert first & second == {("DummyNode", "move")}

    @pytest.mark.parametrize(
        ("entity", "before", "after"),
        [
            (DUMMY_NODE, {"parent": 2}, {"parent": 2}),
            (DUMMY_NODE, None, {"parent": 2}),
            (DUMMY_NODE, {"parent": 2}, None),
            (CLIENT, {"name": "a"}, {"name": "b"}),
        ],
    )
    def test_nothing_else_is_a_move(
        self, entity: Entity, before: dict[str, object] | None, after: dict[str, object] | None
    ) -> None:
        assert (entity.name, "move") not in entity.touched(1, before, after)


@pytest.mark.django_db(databases=["default", "reader_main"])
class TestNumbers:
    """The document's three tables stand on both sides, and the rows refer to them."""

    @pytest.mark.parametrize("alias", ["default", "reader_main"])
    def test_every_type_and_status_has_its_name(self, alias: str) -> None:
        for model, names in NUMBERS.items():
            if router.allow_migrate_model(alias, model):
                assert dict(model._default_manager.using(alias).values_list("pk", "name")) == names

    @pytest.mark.parametrize(
        ("model", "column"),
        [
            (writer.AppEvent, "app_event_status"),
            (writer.AppEvent, "app_event_type"),
            (writer.WriterEvent, "app_event_status"),
            (reader.AppEvent, "app_event_status"),
            (reader.AppEvent, "app_event_type"),
        ],
    )
    def test_an_unknown_number_is_refused(self, model: Any, column: str) -> None:
        alias = "reader_main" if model is reader.AppEvent else "default"
        known = {"app_event_type_id": 1, "app_event_status_id": 1, "position": 1}
        with transaction.atomic(using=alias):
            model.objects.using(alias).create(pk=1, date=timezone.now(), **known | {f"{column}_id": 99})
            with pytest.raises(IntegrityError):
                connections[alias].check_constraints()
            transaction.set_rollback(True, using=alias)
