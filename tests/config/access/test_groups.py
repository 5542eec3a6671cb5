from typing import Any

import pytest
from django.apps import apps
from django.contrib.auth.models import Group, Permission
from django.core.management import call_command

from config.access.groups import GROUPS, Rights, sync_groups
from config.access.scopes import Scope, permission
from tests.staff import member_of

READS = "registry:read parties:read history:read workflows:read"


def keep(app_label: str) -> None:
    sync_groups(app_config=apps.get_app_config(app_label), using="default")


@pytest.mark.embedded
@pytest.mark.django_db
class TestGroups:
    @pytest.mark.parametrize("group", GROUPS)
    def test_everyone_sees_events_and_changes(self, group: str) -> None:
        person = member_of(group)
        assert person.has_perms(["notifications.view_event", "records.view_changerecord"])

    @pytest.mark.parametrize("group", ["viewer", "operator", "registrar"])
    @pytest.mark.parametrize(
        "forbidden",
        [
            "records.view_accesskey",
            "records.add_accesskey",
            "records.view_signinattempt",
            "auth.view_user",
            "auth.change_group",
            "sessions.view_session",
            "django_celery_beat.change_periodictask",
            "notifications.change_event",
        ],
    )
    def test_only_administrators_touch_keys_accounts_and_the_schedule(self, group: str, forbidden: str) -> None:
        assert not member_of(group).has_perm(forbidden)

    @pytest.mark.parametrize(
        ("group", "allowed"),
        [
            ("viewer", READS),
            ("operator", f"{READS} operations sessions workflows:write signals:write coordination"),
            ("registrar", f"{READS} registry:write parties:write"),
            ("administrator", " ".join(Scope.values)),
        ],
    )
    def test_each_group_has_the_scopes_of_its_rule(self, group: str, allowed: str) -> None:
        person = member_of(group)
        held = {scope for scope in Scope.values if person.has_perm(f"records.{permission(scope)}")}
        assert held == set(allowed.split())

    def test_an_administrator_may_do_everything(self) -> None:
        held = Group.objects.get(name="administrator").permissions.count()
        assert held == Permission.objects.count()


@pytest.mark.embedded
@pytest.mark.django_db
class TestKeepGroups:
    def test_again_changes_nothing(self, django_assert_max_num_queries: Any) -> None:
        before = set(Group.permissions.through.objects.values_list("pk", flat=True))
        with django_assert_max_num_queries(8):
            keep("records")
        assert set(Group.permissions.through.objects.values_list("pk", flat=True)) == before

    def test_puts_back_what_was_taken_and_takes_what_was_given(self) -> None:
        viewer = Group.objects.get(name="viewer")
        viewer.permissions.set([Permission.objects.get(codename="view_accesskey")])
        keep("records")
        codenames = set(viewer.permissions.values_list("codename", flat=True))
        assert "view_changerecord" in codenames
        assert "view_accesskey" not in codenames

    def test_leaves_groups_of_the_organisation_alone(self) -> None:
        own = Group.objects.create(name="night shift")
        own.permissions.add(Permission.objects.get(codename="view_accesskey"))
        keep("records")
        assert own.permissions.count() == 1


@pytest.mark.embedded
@pytest.mark.django_db(transaction=True)
class TestMigrate:
    def test_makes_the_groups_with_the_permissions_of_that_run(self) -> None:
        Group.objects.all().delete()
        Permission.objects.all().delete()
        call_command("migrate", verbosity=0)
        assert member_of("viewer").has_perm("notifications.view_event")


class TestRights:
    registrar = GROUPS["registrar"]

    @pytest.mark.parametrize("codename", ["view_sensor", "add_sensor", "change_sensor", "delete_sensor"])
    def test_a_registrar_edits_apps_that_are_installed_later(self, codename: str) -> None:
        assert self.registrar.allow("sensors", "sensor", codename)

    def test_an_extra_permission_of_an_app_is_not_given_by_accident(self) -> None:
        assert not self.registrar.allow("sensors", "sensor", "purge_sensor")

    def test_a_scope_is_a_permission_of_the_records_alone(self) -> None:
        rights = Rights("", "", scopes=frozenset({Scope.OPERATIONS}))  # type: ignore[arg-type]
        assert rights.allow("records", "accesskey", "scope_operations")
        assert not rights.allow("sensors", "sensor", "scope_operations")
