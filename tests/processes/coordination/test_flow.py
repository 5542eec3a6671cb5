import pytest

from processes.coordination.models import writer
from processes.coordination.reader import models as reader
from processes.coordination.statuses import EventStatus
from tests.processes.coordination.cast import DATABASES, Cast, ShuffledBus, make, rows_of, status_of, wanted

pytestmark = [pytest.mark.django_db(databases=DATABASES), pytest.mark.embedded]


def same(name: str) -> bool:
    return rows_of(writer.TABLES[name], using="default") == rows_of(reader.TABLES[name], using="reader_main")


class TestFlow:
    def test_a_change_reaches_the_reader(self) -> None:
        cast = Cast()
        made = make(wanted("DummyItem", "insert", name="a"))
        cast.settle()
        assert status_of(made.event) == EventStatus.COMMITTED
        assert same("DummyItem")
        assert len(rows_of(reader.TABLES["DummyItem"], using="reader_main")) == 1

    @pytest.mark.parametrize("seed", range(5))
    def test_twice_and_in_any_order(self, seed: int) -> None:
        cast = Cast(bus=ShuffledBus(seed))
        made = make(*(wanted("DummyItem", "insert", name=f"a{n}") for n in range(35)))
        make(wanted("DummyItem", "update", made.ids[0], name="b"), wanted("DummyItem", "delete", made.ids[1]))
        cast.settle()
        assert same("DummyItem")
        assert len(rows_of(reader.TABLES["DummyItem"], using="reader_main")) == 34
