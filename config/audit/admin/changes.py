from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.loader import render_to_string
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from config.access.permissions import has_scope
from config.access.scopes import Scope, permission
from config.admin_base.pages import (
    BigTableAdmin,
    Comparison,
    Question,
    actor_of,
    ask_then_act,
    badge,
    explain,
    get_subject,
    page_of,
    trace_link,
)
from config.admin_base.theme import DropdownFilter, TextFilter, action, display
from config.audit.changes import RevertPlan, find_page, plan_revert, revert_change, scope_of_kind, tracked_kinds
from config.audit.selectors import PRIVATE_KINDS, hidden_kinds, visible_changes
from config.audit.subjects import find_subject_names
from config.common.actors import say_actor
from config.common.errors import ApplicationError
from config.records.kinds import kind_title, say_value, value_title
from config.records.models import ChangeRecord

COLOURS = {"created": "success", "changed": "info", "deleted": "danger"}


class KindFilter(DropdownFilter):
    """Offers the kinds that the apps registered: collecting them from the rows would read the whole log."""

    title = _("kind")
    parameter_name = "kind"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, Any]]:
        return [(kind, kind_title(kind)) for kind in tracked_kinds() if kind not in hidden_kinds(request.user)]

    def queryset(self, request: HttpRequest, queryset: QuerySet[ChangeRecord]) -> QuerySet[ChangeRecord]:
        return queryset.filter(kind=self.value()) if self.value() else queryset


class ActionFilter(DropdownFilter):
    title = _("action")
    parameter_name = "action"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, Any]]:
        return list(ChangeRecord.Action.choices)

    def queryset(self, request: HttpRequest, queryset: QuerySet[ChangeRecord]) -> QuerySet[ChangeRecord]:
        return queryset.filter(action=self.value()) if self.value() else queryset


class ActorFilter(TextFilter):
    title = _("who")
    parameter_name = "actor"

    def queryset(self, request: HttpRequest, queryset: QuerySet[ChangeRecord]) -> QuerySet[ChangeRecord]:
        actor = (self.value() or "").strip()
        return queryset.filter(actor=actor) if actor else queryset


@admin.register(ChangeRecord)
class ChangeRecordAdmin(BigTableAdmin[ChangeRecord]):
    list_display = ("at", "what", "kind_of_object", "about", "touched", "who")
    list_filter = (KindFilter, ActionFilter, ActorFilter)
    empty_text = _("Whatever is registered, changed or deleted appears here with its values before and after.")
    search_fields = ("=object_id", "=correlation_id")
    search_help_text = _("Exact object or correlation id")
    fields = ("at", "who", "what", "kind_of_object", "about", "difference", "chain", "reverts", "taken_back")
    actions_detail = ("revert",)

    @display(description=_("action"), ordering="action")
    def what(self, change: ChangeRecord) -> SafeString:
        return badge(change.get_action_display(), COLOURS[change.action])

    @display(description=_("kind"), ordering="kind")
    def kind_of_object(self, change: ChangeRecord) -> str:
        return kind_title(change.kind)

    @display(description=_("object"), ordering="object_id")
    def about(self, change: ChangeRecord) -> SafeString | str:
        """Lead to the page of the object; its id is a hint."""
        subject = _subject_of(change)
        names = change.names if hasattr(change, "names") else find_subject_names([subject])
        name, page = names.get(subject, ("", ""))
        if not page:
            return format_html('<span title="{}">{}</span>', change.object_id, name) if name else change.object_id
        return format_html('<a class="pst-link" href="{}" title="{}">{}</a>', page, change.object_id, name)

    def complete_rows(self, rows: Iterable[ChangeRecord]) -> None:
        """Find the names of all objects by a few queries."""
        names = find_subject_names({_subject_of(row) for row in rows})
        for row in rows:
            setattr(row, "names", names)  # noqa: B010 (rides along to the column)

    @display(description=_("who"), ordering="actor")
    def who(self, change: ChangeRecord) -> SafeString:
        return format_html('<span title="{}">{}</span>', change.actor, say_actor(change.actor))

    @display(description=_("changed values"))
    def touched(self, change: ChangeRecord) -> str:
        names = [row.title for row in compare(change)]
        return ", ".join(names[:4]) + (f" +{len(names) - 4}" if len(names) > 4 else "")

    @display(description=_("before and after"))
    def difference(self, change: ChangeRecord) -> SafeString:
        return SafeString(render_to_string("admin_base/difference.html", {"change": change, "rows": compare(change)}))

    @display(description=_("correlation id"))
    def chain(self, change: ChangeRecord) -> SafeString | str:
        return trace_link(change.correlation_id)

    @display(description=_("reverted by"))
    def taken_back(self, change: ChangeRecord) -> Any:
        revert = _find_revert(change)
        return format_html('<a href="{}">{}</a>', page_of(self, revert), revert) if revert else "–"

    def has_revert_permission(self, request: HttpRequest, object_id: str | None = None) -> bool:
        """Offer the revert to those who may change the registry, once for each change."""
        if not request.user.has_perm(f"records.{permission(Scope.REGISTRY_WRITE)}"):
            return False
        change = None if object_id is None else self.get_object(request, object_id)
        if change is None:
            return True
        # A key that has ended stays ended, and rights are given by hand; all else is taken back by its app's service.
        is_revertible = change.kind in tracked_kinds() and change.kind not in PRIVATE_KINDS
        is_allowed = has_scope(request.user, scope_of_kind(change.kind))
        return is_allowed and is_revertible and _find_revert(change) is None

    def get_queryset(self, request: HttpRequest) -> QuerySet[ChangeRecord]:
        return visible_changes(request.user)

    @action(description=_("Revert"), permissions=["revert"], url_path="revert", icon="undo")
    def revert(self, request: HttpRequest, object_id: str) -> HttpResponse:
        change = get_subject(self, request, object_id)
        try:
            plan = plan_revert(change.pk)
        except ApplicationError as error:
            messages.error(request, explain(error))
            return HttpResponseRedirect(page_of(self, change))
        question = Question(
            title=gettext("Revert this change?"),
            text=gettext("%(object)s gets back its previous values. The revert is recorded as a change of its own.")
            % {"object": change},
            button=gettext("Revert"),
            comparison=_compare_plan(plan),
        )

        def act(answers: dict[str, Any]) -> str:
            revert_change(change_id=change.pk, actor=actor_of(request))
            return gettext("The change has been reverted.")

        after = find_page(change.kind, change.object_id)
        return ask_then_act(self, request, change, question=question, act=act, after=after)


@dataclass(frozen=True)
class Difference:
    name: str
    before: Any
    after: Any

    @property
    def title(self) -> str:
        return value_title(self.name)


def compare(change: ChangeRecord) -> list[Difference]:
    """Return the values that the change set, took away or replaced."""
    before, after = change.before or {}, change.after or {}
    names = sorted(before.keys() | after.keys())
    return [
        Difference(name, before.get(name), after.get(name)) for name in names if before.get(name) != after.get(name)
    ]


def _compare_plan(plan: RevertPlan) -> list[Comparison]:
    """Return the values that a revert changes; a registration is taken back by deactivating."""
    if plan.target is None:
        return [_compare_value("active", True, False)] if (plan.current or {}).get("active") else []
    now = plan.current or {}
    return [_compare_value(name, now.get(name), then) for name, then in plan.target.items() if now.get(name) != then]


def _compare_value(name: str, now: Any, then: Any) -> Comparison:
    return Comparison(value_title(name), say_value(now), say_value(then))


def _subject_of(change: ChangeRecord) -> str:
    return f"{change.kind}/{change.object_id}"


def _find_revert(change: ChangeRecord) -> ChangeRecord | None:
    return ChangeRecord.objects.filter(reverts=change).first()
