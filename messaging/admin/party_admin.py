"""What the admin pages of all parties share: lists without full counts, forms saved by services, keys shown once."""

from collections.abc import Sequence
from typing import Any, ClassVar, TypeVar

from django.db import transaction
from django.db.models import Model
from django.forms import Script
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.utils.functional import Promise
from django.utils.safestring import SafeString
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from config.admin_base.lists import ListAdmin
from config.admin_base.pages import (
    OnceForm,
    Question,
    active_badge,
    actor_of,
    ask_then_act,
    get_subject,
    page_of,
)
from config.admin_base.theme import action, display
from config.records.form_claims import claim_form
from messaging.admin.party_page import Fact, build_party_page
from messaging.services.party_keys import NewKey

M = TypeVar("M", bound=Model)


class PartyAdmin(ListAdmin[M]):
    ordering = ("id",)
    search_fields: ClassVar[tuple[str, ...]] = ("id", "name")
    search_help_text = _("Part of an id or a name")
    empty_text = _("None is registered yet: add the first one.")
    actions = None
    change_form_outer_before_template = "admin/messaging/party/overview.html"
    change_form_outer_after_template = "admin/messaging/party/past.html"
    kind: ClassVar[str]
    """What the change log calls it."""
    fixed: ClassVar[tuple[str, ...]] = ("id",)
    """Fields that cannot be changed after the registration."""

    class Media:
        css = {"all": ["postern/sensors.css"]}
        js = [Script("postern/copy.js", defer=True)]

    def create(self, party_id: str | None, actor: str, values: dict[str, Any]) -> Any:
        """Register the party by its service; return its id, or its key with it."""
        raise NotImplementedError

    def update(self, party_id: str, actor: str, edits: dict[str, Any]) -> None:
        raise NotImplementedError

    def facts(self, request: HttpRequest, party: M) -> Sequence[Fact]:
        raise NotImplementedError

    def has_delete_permission(self, request: HttpRequest, obj: M | None = None) -> bool:
        """Return False: what has a history is deactivated, by a service."""
        return False

    def get_readonly_fields(self, request: HttpRequest, obj: M | None = None) -> tuple[str, ...]:
        return () if obj is None else self.fixed

    def get_fields(self, request: HttpRequest, obj: M | None = None) -> Any:
        """Return all fields for a new party; those that cannot be changed are shown above the form later."""
        names = self.form.Meta.fields  # type: ignore[attr-defined]
        return [*names, "form_id"] if obj is None else [name for name in names if name not in self.fixed]

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        party = self.get_object(request, object_id)
        page = None if party is None else build_party_page(request, self.kind, party, self.facts(request, party))
        return super().change_view(request, object_id, form_url, {**(extra_context or {}), "page": page})

    def save_model(self, request: HttpRequest, obj: M, form: Any, change: bool) -> None:
        """Pass the values to the service; of a party that exists, only those that this person changed."""
        filled = form.cleaned_data
        values = {name: filled[name] for name in self.form.Meta.fields if name in filled}  # type: ignore[attr-defined]
        # Services take a party by its id.
        values = {name: value.pk if isinstance(value, Model) else value for name, value in values.items()}
        party_id = values.pop("id", "") or None
        if change:
            edits = {name: value for name, value in values.items() if name in form.changed_data}
            self.update(str(obj.pk), actor_of(request), edits)
            return
        with transaction.atomic():
            claim_form(filled["form_id"], purpose=self.kind)
            made = self.create(party_id, actor_of(request), values)
        obj.pk = made.party_id if isinstance(made, NewKey) else made
        setattr(obj, "made", made)  # noqa: B010 (rides along to `response_add`)

    def save_related(self, request: HttpRequest, form: Any, formsets: Any, change: bool) -> None:
        """Do nothing: there is nothing beside the party itself."""

    def show_page(self, request: HttpRequest, template: str, party: M, title: str, **context: Any) -> HttpResponse:
        frame = self.admin_site.each_context(request)
        shared = {"opts": self.opts, "title": title, "original": party, "back": page_of(self, party)}
        return TemplateResponse(request, template, {**frame, **shared, **context})


class SwitchableAdmin(PartyAdmin[M]):
    """A party that is switched off and on again."""

    off_words: ClassVar[Promise]
    """What deactivating it means."""

    @display(description=_("state"), ordering="active")
    def activity(self, party: M) -> SafeString:
        return active_badge(_is_active(party))

    def has_deactivate_permission(self, request: HttpRequest, object_id: str | None = None) -> bool:
        return self.has_change_permission(request) and self._is_active(request, object_id) is not False

    def has_activate_permission(self, request: HttpRequest, object_id: str | None = None) -> bool:
        return self.has_change_permission(request) and self._is_active(request, object_id) is not True

    def _is_active(self, request: HttpRequest, object_id: str | None) -> bool | None:
        party = None if object_id is None else self.get_object(request, object_id)
        return None if party is None else _is_active(party)

    @action(
        description=_("Deactivate"), permissions=["deactivate"], url_path="deactivate", icon="block", dangerous=True
    )
    def deactivate(self, request: HttpRequest, object_id: str) -> HttpResponse:
        party = get_subject(self, request, object_id)
        title = gettext("Deactivate “%(name)s”?") % {"name": party}
        question = Question(title, str(self.off_words), gettext("Deactivate"), dangerous=True)

        def act(answers: dict[str, Any]) -> str:
            self.update(str(party.pk), actor_of(request), {"active": False})
            return gettext("“%(name)s” has been deactivated.") % {"name": party}

        return ask_then_act(self, request, party, question=question, act=act)

    @action(description=_("Activate"), permissions=["activate"], url_path="activate", icon="check_circle")
    def activate(self, request: HttpRequest, object_id: str) -> HttpResponse:
        party = get_subject(self, request, object_id)
        title = gettext("Activate “%(name)s”?") % {"name": party}
        question = Question(
            title, gettext("Keys that have not been revoked or expired work again at once."), gettext("Activate")
        )

        def act(answers: dict[str, Any]) -> str:
            self.update(str(party.pk), actor_of(request), {"active": True})
            return gettext("“%(name)s” has been activated.") % {"name": party}

        return ask_then_act(self, request, party, question=question, act=act)


class KeyedAdmin(SwitchableAdmin[M]):
    """A party with a key, which is shown when it is made."""

    actions_detail = ("rotate", "deactivate", "activate")

    def rotate_key(self, party_id: str, actor: str) -> NewKey:
        raise NotImplementedError

    def has_rotate_permission(self, request: HttpRequest, object_id: str | None = None) -> bool:
        return self.has_change_permission(request)

    def response_add(self, request: HttpRequest, obj: M, post_url_continue: str | None = None) -> HttpResponse:
        return self._show_key(request, obj, getattr(obj, "made"))  # noqa: B009

    @action(description=_("Replace key"), permissions=["rotate"], url_path="rotate", icon="autorenew")
    def rotate(self, request: HttpRequest, object_id: str) -> HttpResponse:
        party = get_subject(self, request, object_id)
        form = OnceForm(request.POST or None)
        if form.is_valid():
            with transaction.atomic():
                claim_form(form.cleaned_data["form_id"], purpose=f"{self.kind}-key")
                made = self.rotate_key(str(party.pk), actor_of(request))
            return self._show_key(request, party, made)
        title = gettext("Replace the key of “%(name)s”?") % {"name": party}
        words = gettext(
            "A new key is created and shown. All older keys are revoked at once: calls with them are refused "
            "until the new key is installed."
        )
        question = Question(title, words, gettext("Replace"), dangerous=True)
        return self.show_page(request, "admin_base/question.html", party, title, question=question, form=form)

    def _show_key(self, request: HttpRequest, party: M, made: NewKey) -> HttpResponse:
        title = gettext("Your new key")
        return self.show_page(request, "admin_base/key_created.html", party, title, key=made.row, text=made.text)


def _is_active(party: Any) -> bool:
    return bool(party.active)
