import pytest

from tests.processes.coordination.admin.change_set_outcomes import commit
from tests.processes.coordination.in_memory_roles import DATABASES, InMemoryRoles
from tests.search_answers import found
from tests.staff import signed_in

pytestmark = [pytest.mark.django_db(databases=DATABASES), pytest.mark.embedded]


def test_a_change_set_is_found_by_its_number() -> None:
    number = commit(InMemoryRoles())
    page = f"/admin/coordination/appevent/{number}/change/"
    assert found(signed_in("viewer"), str(number))["Change sets"] == [page]
