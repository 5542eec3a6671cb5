"""Changes of accounts, groups and rights in the change log, and changed passwords in the log."""

from collections.abc import Collection
from typing import Any

from django.contrib.auth.models import Group, Permission, User
from django.contrib.auth.password_validation import CommonPasswordValidator
from django.db.models import QuerySet
from django.urls import reverse
from django.utils.translation import gettext, gettext_noop

from config.audit.changes import Tracked, Values, record_change, refuse_revert, track
from config.audit.log import write_log_entry
from config.records.models import ChangeRecord, LogEntry

ACCOUNT, GROUP = "account", "group"
PREFIX = f"{ACCOUNT}/"
PASSWORD_CHANGED = gettext_noop("The password of %(name)s was changed")


def values_of(subject: User | Group) -> Values:
    """Return what the change log keeps of an account or a group; never a password."""
    if isinstance(subject, Group):
        return {"name": subject.name, "permissions": _names(subject.permissions)}
    return {
        "username": subject.username,
        "email": subject.email,
        "is_active": subject.is_active,
        "is_staff": subject.is_staff,
        "is_superuser": subject.is_superuser,
        "groups": sorted(subject.groups.values_list("name", flat=True)),
        "permissions": _names(subject.user_permissions),
    }


def find_values(subject: User | Group) -> Values:
    """Return the values as the database has them, locked until the change is made."""
    return values_of(type(subject).objects.select_for_update().get(pk=subject.pk))


def record_account_change(
    *, subject: User | Group, object_id: str, before: Values | None, after: Values | None, actor: str
) -> None:
    """Record a change in its transaction, if there is any."""
    if before == after:
        return
    action = ChangeRecord.Action.CHANGED if before and after else ChangeRecord.Action.CREATED
    record_change(
        kind=GROUP if isinstance(subject, Group) else ACCOUNT,
        object_id=object_id,
        action=action if after else ChangeRecord.Action.DELETED,
        before=before,
        after=after,
        actor=actor,
    )


class RecordedPasswordValidator(CommonPasswordValidator):
    """Writes every changed password to the log: Django calls all validators about it, but not about a mere rehash."""

    def password_changed(self, password: str, user: User | None = None) -> None:
        if user is not None:
            write_log_entry(
                level=LogEntry.Level.INFO,
                kind=LogEntry.Kind.ACCOUNT,
                template=PASSWORD_CHANGED,
                subject=f"account/{user.pk}",
                data={"name": user.get_username()},
            )


def name_accounts(subjects: Collection[str]) -> dict[str, tuple[str, str]]:
    """Return the names of accounts that log entries are about, each with its page."""
    parts = {subject: subject.removeprefix(PREFIX) for subject in subjects if subject.startswith(PREFIX)}
    ids = {subject: int(pk) for subject, pk in parts.items() if pk.isascii() and pk.isdigit() and len(pk) < 10}
    names = dict(User.objects.filter(pk__in=set(ids.values())).values_list("pk", "username")) if ids else {}
    return {
        subject: (gettext("account %(name)s") % {"name": names[pk]}, reverse("admin:auth_user_change", args=[pk]))
        for subject, pk in ids.items()
        if pk in names
    }


def _names(permissions: Any) -> list[str]:
    held: QuerySet[Permission] = permissions.all()
    return sorted(f"{app}.{codename}" for app, codename in held.values_list("content_type__app_label", "codename"))


# Rights are given by a person who looks at them as they are: no revert gives them back.
for _kind in (ACCOUNT, GROUP):
    track(Tracked(kind=_kind, fields=(), find=lambda object_id: None, restore=refuse_revert))
