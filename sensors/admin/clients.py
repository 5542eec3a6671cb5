from collections.abc import Iterable, Sequence
from typing import Any

from django.contrib import admin
from django.db import transaction
from django.db.models import Count, OuterRef, QuerySet, Subquery
from django.db.models.functions import Coalesce
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext, ngettext, ngettext_lazy
from django.utils.translation import gettext_lazy as _

from config.access.keys import create_key
from config.admin_base.confirm_many import ManyAction, Report, Tally, apply_to_each, confirm_many
from config.admin_base.mute import MuteForm, muted_badge
from config.admin_base.pages import (
    OnceForm,
    Question,
    ReadOnceAdmin,
    active_badge,
    actor_of,
    ask_then_act,
    badge,
    get_subject,
    page_of,
)
from config.admin_base.theme import action, display
from config.admin_base.times import time_element
from config.records.form_claims import claim_form
from config.records.models import AccessKey
from notifications.errors import PingFailed
from notifications.presentation import say_reason
from notifications.selectors import Waiting, count_waiting
from notifications.sending.policy import is_success
from notifications.services.pings import begin_ping, finish_ping
from sensors.admin.as_of_page import client_as_of_page
from sensors.admin.client_page import build_client_page
from sensors.admin.filters import ActiveFilter, MutedFilter
from sensors.admin.forms import ClientForm
from sensors.admin.history_card import answer_history, read_asked
from sensors.api.history import LONGEST_OF_CLIENT
from sensors.history.values import ClientSensors
from sensors.models import Client, SensorClient
from sensors.services.clients import (
    create_client,
    pause_client,
    resume_client,
    rotate_secret,
    update_client,
)

MOST_AT_ONCE = 10_000
COUNTED = ngettext_lazy("%(number)s client:", "%(number)s clients:", "count")


@admin.register(Client)
class ClientAdmin(ReadOnceAdmin[Client]):
    list_display = ("name", "id", "address", "sensor_count", "activity", "mute_end")
    list_filter = (ActiveFilter, MutedFilter)
    empty_text = _(
        "A client is an organisation that is notified about its sensors: enter its name and its webhook URL."
    )
    list_select_related = ("endpoint",)
    ordering = ("name", "id")
    search_fields = ("name", "endpoint__url")
    actions = ("mute",)
    actions_detail = ("ping", "pause", "resume", "rotate", "new_key")
    form = ClientForm
    fields = ("name", "url", "active", "muted_until", "form_id")
    change_form_outer_before_template = "admin/sensors/client/overview.html"
    change_form_outer_after_template = "admin/sensors/client/past.html"

    class Media:
        css = {"all": ["postern/sensors.css"]}
        js = ["postern/history.js"]

    @display(description=_("URL"), ordering="endpoint__url")
    def address(self, client: Client) -> SafeString:
        return format_html('<span class="pst-url">{}</span>', client.endpoint.url)

    @display(description=_("URL"))
    def url(self, client: Client) -> str:
        """Return the URL for those who may only view: they see this in place of the form's field."""
        return client.endpoint.url

    @display(description=_("sensors"), ordering="number_of_sensors")
    def sensor_count(self, client: Client) -> int:
        return int(getattr(client, "number_of_sensors", 0))

    @display(description=_("state"), ordering="active")
    def activity(self, client: Client) -> SafeString:
        if client.active and client.endpoint.active and client.endpoint.paused:
            return badge(gettext("paused"), "warning")
        if client.active and client.endpoint.active and client.endpoint.opened_at is not None:
            return self._unreachable(client)
        return active_badge(client.active and client.endpoint.active)

    @display(description=_("muted"), ordering="muted_until")
    def mute_end(self, client: Client) -> SafeString:
        return muted_badge(client.muted_until) or SafeString("–")

    def _unreachable(self, client: Client) -> SafeString:
        """Return a badge with how many deliveries wait for a client that does not answer, and since when."""
        waiting: Waiting | None = getattr(client, "waiting", None)
        words = format_html(
            gettext("waiting: {count}, since {since}"),
            count=waiting or "–",
            since=time_element(client.endpoint.opened_at),
        )
        return format_html("{} <small>{}</small>", badge(gettext("not responding"), "danger"), words)

    def complete_rows(self, rows: Iterable[Client]) -> None:
        """Count what waits for clients that do not answer."""
        counts = count_waiting([row.endpoint_id for row in rows if row.endpoint.opened_at is not None])
        for row in rows:
            setattr(row, "waiting", counts.get(row.endpoint_id))  # noqa: B010 (rides along to the column)

    def has_delete_permission(self, request: HttpRequest, obj: Client | None = None) -> bool:
        """Clients are deactivated, so that their history stays readable."""
        return False

    def has_ping_permission(self, request: HttpRequest, object_id: str | None = None) -> bool:
        client = None if object_id is None else self.get_object(request, object_id)
        return self.has_change_permission(request) and (client is None or client.endpoint.active)

    def has_pause_permission(self, request: HttpRequest, object_id: str | None = None) -> bool:
        return self.has_change_permission(request) and not self._is_paused(request, object_id)

    def has_resume_permission(self, request: HttpRequest, object_id: str | None = None) -> bool:
        """Offer it for a client that is paused; without a client, say whether the person may resume any."""
        is_paused = object_id is None or self._is_paused(request, object_id)
        return self.has_change_permission(request) and is_paused

    def has_rotate_permission(self, request: HttpRequest, object_id: str | None = None) -> bool:
        return self.has_change_permission(request)

    def has_new_key_permission(self, request: HttpRequest, object_id: str | None = None) -> bool:
        return request.user.has_perm("records.add_accesskey")

    def _is_paused(self, request: HttpRequest, object_id: str | None) -> bool:
        client = None if object_id is None else self.get_object(request, object_id)
        return client is not None and client.endpoint.paused

    def get_queryset(self, request: HttpRequest) -> QuerySet[Client]:
        # A count for each row that is shown: one over all links would read a million of them for a page of fifty.
        # Of rows, not of a column of theirs: the index `link_of_client` answers it.
        links = SensorClient.objects.filter(client=OuterRef("pk")).order_by().values("client")
        counted = Coalesce(Subquery(links.annotate(number=Count("*")).values("number")), 0)
        return super().get_queryset(request).select_related("endpoint").annotate(number_of_sensors=counted)

    def get_fields(self, request: HttpRequest, obj: Client | None = None) -> Any:
        """Leave out the hidden id of a new form for a client that exists."""
        names = super().get_fields(request, obj)
        return names if obj is None else [name for name in names if name != "form_id"]

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: dict[str, Any] | None = None
    ) -> Any:
        client = self.get_object(request, object_id)
        if client is not None and self.has_view_or_change_permission(request, client):
            if "at" in request.GET:
                return client_as_of_page(self, request, client)
            if request.GET.get("format") == "csv":
                asked = read_asked(request, now=timezone.now(), longest=LONGEST_OF_CLIENT)
                name = f"client-{client.pk}-history.csv"
                return answer_history(ClientSensors(client.pk), asked, name=name, endpoint=client.endpoint_id)
        page = None if client is None else build_client_page(request, client)
        return super().change_view(request, object_id, form_url, {**(extra_context or {}), "page": page})

    def save_model(self, request: HttpRequest, obj: Client, form: Any, change: bool) -> None:
        """Pass the values to the service; of a client that exists, only those that this person changed."""
        values = {name: form.cleaned_data[name] for name in (*ClientForm.Meta.fields, "url")}
        if change:
            edits = {name: value for name, value in values.items() if name in form.changed_data}
            update_client(client_id=obj.pk, actor=actor_of(request), **edits)
            return
        with transaction.atomic():
            claim_form(form.cleaned_data["form_id"], purpose="client")
            made = create_client(actor=actor_of(request), **values)
        obj.pk = made.client_id
        setattr(obj, "new_secret", made.text)  # noqa: B010 (rides along to `response_add`)

    def save_related(self, request: HttpRequest, form: Any, formsets: Any, change: bool) -> None:
        """Do nothing: there is nothing beside the client itself."""

    def response_add(self, request: HttpRequest, obj: Client, post_url_continue: str | None = None) -> HttpResponse:
        return self._show_secret(request, obj, getattr(obj, "new_secret", ""))

    @admin.action(description=_("Mute"), permissions=["change"])
    def mute(self, request: HttpRequest, queryset: QuerySet[Client]) -> HttpResponse | None:
        question = Question(
            title=gettext("Mute these clients?"),
            text=gettext(
                "Until then they are not notified of a lost or restored connection, nor of a door left open. Doors "
                "that open or close are reported as before, and history records everything. A connection that is still "
                "lost at the end is reported then."
            ),
            button=gettext("Mute"),
        )

        def act(ids: Sequence[int], answers: dict[str, Any]) -> Tally:
            until, actor = answers["muted_until"], actor_of(request)
            return Tally(*apply_to_each(ids, lambda pk: update_client(client_id=pk, actor=actor, muted_until=until)))

        def describe(tally: Tally) -> Report:
            words = ngettext("Mute updated for %(done)d client.", "Mute updated for %(done)d clients.", tally.done)
            skipped = ngettext("%(count)d skipped.", "%(count)d skipped.", tally.left_out) % {"count": tally.left_out}
            return Report(words % {"done": tally.done}, skipped if tally.left_out else "")

        many = ManyAction(question, act, describe, COUNTED, MOST_AT_ONCE, form=MuteForm, shown_as="name")
        return confirm_many(self, request, queryset, many)

    @action(description=_("Send test message"), permissions=["ping"], url_path="ping", icon="network_ping")
    def ping(self, request: HttpRequest, object_id: str) -> HttpResponse:
        client = get_subject(self, request, object_id)
        question = Question(
            title=gettext("Send a test message to this client?"),
            text=gettext(
                "A test message is sent to %(url)s at once, even if the client is paused. The client has ten "
                "seconds to respond."
            )
            % {"url": client.endpoint.url},
            button=gettext("Send"),
        )
        return ask_then_act(self, request, client, question=question, act=lambda answers: _ping(client))

    @action(description=_("Pause"), permissions=["pause"], url_path="pause", icon="pause")
    def pause(self, request: HttpRequest, object_id: str) -> HttpResponse:
        client = get_subject(self, request, object_id)
        question = Question(
            title=gettext("Pause this client?"),
            text=gettext("Nothing is sent to it until it is resumed; then it gets the latest message of each sensor."),
            button=gettext("Pause"),
        )

        def act(answers: dict[str, Any]) -> str:
            pause_client(client_id=client.pk, actor=actor_of(request))
            return gettext("The client has been paused.")

        return ask_then_act(self, request, client, question=question, act=act)

    @action(description=_("Resume"), permissions=["resume"], url_path="resume", icon="play_arrow")
    def resume(self, request: HttpRequest, object_id: str) -> HttpResponse:
        client = get_subject(self, request, object_id)
        question = Question(
            title=gettext("Resume this client?"),
            text=gettext("Waiting messages are sent from now on."),
            button=gettext("Resume"),
        )

        def act(answers: dict[str, Any]) -> str:
            resume_client(client_id=client.pk, actor=actor_of(request))
            return gettext("The client has been resumed.")

        return ask_then_act(self, request, client, question=question, act=act)

    @action(description=_("Replace secret"), permissions=["rotate"], url_path="rotate", icon="autorenew")
    def rotate(self, request: HttpRequest, object_id: str) -> HttpResponse:
        client = get_subject(self, request, object_id)
        form = OnceForm(request.POST or None)
        if form.is_valid():
            with transaction.atomic():
                claim_form(form.cleaned_data["form_id"], purpose="secret")
                made = rotate_secret(client_id=client.pk, actor=actor_of(request))
            return self._show_secret(request, client, made.text)
        text = gettext("The new secret signs messages at once; the old one stays valid beside it for 24 hours.")
        question = Question(gettext("Replace the secret of this client?"), text, gettext("Replace"))
        return self._page(request, "admin_base/question.html", client, question.title, question=question, form=form)

    @action(description=_("New key"), permissions=["new_key"], url_path="new-key", icon="key")
    def new_key(self, request: HttpRequest, object_id: str) -> HttpResponse:
        client = get_subject(self, request, object_id)
        form = OnceForm(request.POST or None)
        if form.is_valid():
            with transaction.atomic():
                claim_form(form.cleaned_data["form_id"], purpose="client-key")
                key, text = create_key(
                    name=client.name[:100],
                    kind=AccessKey.Kind.CLIENT,
                    subject=str(client.pk),
                    actor=actor_of(request),
                )
            return self._page(
                request, "admin_base/key_created.html", client, gettext("Your new key"), key=key, text=text
            )
        words = gettext(
            "The client can use it to read its own sensors, their history, events and deliveries, and nothing else."
        )
        question = Question(gettext("Create a key for this client?"), words, gettext("Create key"))
        return self._page(request, "admin_base/question.html", client, question.title, question=question, form=form)

    def _show_secret(self, request: HttpRequest, client: Client, text: str) -> HttpResponse:
        title = gettext("Secret of “%(name)s”") % {"name": client.name}
        words = gettext(
            "Copy the secret now: it is shown only once. The client uses it to verify the signature of what it "
            "receives (Standard Webhooks)."
        )
        return self._page(request, "admin_base/shown_once.html", client, title, secret=text, explanation=words)

    def _page(self, request: HttpRequest, template: str, client: Client, title: str, **context: Any) -> HttpResponse:
        frame = self.admin_site.each_context(request)
        shared = {"opts": self.opts, "title": title, "original": client, "back": page_of(self, client)}
        return TemplateResponse(request, template, {**frame, **shared, **context})


def _ping(client: Client) -> str:
    """Send a ping; return the outcome, or raise it as an error where the ping failed."""
    attempt = finish_ping(begin_ping(client.endpoint_id), is_new=True)
    values = {"status": attempt.status, "duration": attempt.duration_ms, "error": say_reason(attempt.error)}
    if is_success(attempt.status):
        return gettext("Response %(status)s after %(duration)s ms.") % values
    raise PingFailed(gettext("The test message failed after %(duration)s ms: %(error)s.") % values)
