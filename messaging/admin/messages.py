from typing import Any

from django.contrib import admin, messages
from django.db.models import DurationField, ExpressionWrapper, F, QuerySet
from django.db.models.functions import Coalesce, Now
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.template.defaultfilters import filesizeformat
from django.urls import URLPattern, path
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from unfold.contrib.filters.admin import AutocompleteSelectFilter

from config.access.scopes import Scope, permission
from config.admin_base.pages import (
    BigTableAdmin,
    Question,
    actor_of,
    ask_then_act,
    explain,
    get_subject,
    page_of,
    trace_link,
)
from config.admin_base.theme import action, display
from config.admin_base.times import time_element
from config.common.errors import ApplicationError
from config.common.web.streaming import stream
from messaging.admin.message_filters import DirectionFilter, FolderFilter, StatusFilter, search_condition
from messaging.admin.message_page import build_message_page
from messaging.admin.missing_files import missing_files_view
from messaging.admin.presentation import folder_text, nowrap, route_html, status_badge, waiting_text
from messaging.admin.reason_form import ReasonForm
from messaging.admin.requeue import requeue_many
from messaging.files.names import name_of
from messaging.files.preview import open_file
from messaging.models import Message
from messaging.services.requeue import is_requeuable, requeue_message
from messaging.services.set_aside import bring_back_message, can_be_set_aside, set_aside_message

WAITED = ExpressionWrapper(Coalesce("settled_at", Now()) - F("accepted_at"), DurationField())


@admin.register(Message)
class MessageAdmin(BigTableAdmin[Message]):
    list_display = ("name", "route_and_subsystem", "state", "place", "volume", "created", "waiting")
    list_filter = (
        ("database", AutocompleteSelectFilter),
        FolderFilter,
        StatusFilter,
        DirectionFilter,
        ("subsystem", AutocompleteSelectFilter),
        ("enterprise", AutocompleteSelectFilter),
    )
    empty_text = _(
        "Messages of devices and databases appear here. First register an enterprise, a device and a database."
    )
    list_select_related = ("device", "database", "subsystem")
    search_fields = ("public_id",)
    search_help_text = _("Message id or its beginning; device id or name")
    fields = (
        "public_id",
        "route",
        "state",
        "error",
        "place",
        "file_name",
        "volume",
        "subsystem",
        "enterprise",
        "created_at",
        "accepted_at",
        "settled_at",
        "waiting",
        "tries",
        "chain",
    )
    actions = ("requeue_chosen",)
    actions_detail = ("requeue", "set_aside", "bring_back", "download")
    change_form_outer_after_template = "admin/messaging/message/page.html"

    class Media:
        css = {"all": ["postern/sensors.css", "postern/deliveries.css", "postern/messaging.css"]}

    @display(description=_("id"), ordering="public_id")
    def name(self, message: Message) -> SafeString:
        return format_html('<span class="pst-id">{}</span>', message.public_id)

    @display(description=_("from → to"), ordering="database")
    def route_and_subsystem(self, message: Message) -> SafeString:
        parts = (route_html(message), message.subsystem.name)
        return format_html('<div class="pst-route">{}<div class="pst-quiet">{}</div></div>', *parts)

    @display(description=_("created"), ordering="created_at")
    def created(self, message: Message) -> SafeString:
        return time_element(message.created_at)

    @display(description=_("from → to"))
    def route(self, message: Message) -> SafeString:
        return route_html(message)

    @display(description=_("status"), ordering="status")
    def state(self, message: Message) -> SafeString:
        return status_badge(message)

    @display(description=_("folder"), ordering="folder")
    def place(self, message: Message) -> str:
        return folder_text(message)

    @display(description=_("size"), ordering="size")
    def volume(self, message: Message) -> SafeString:
        return nowrap(filesizeformat(message.size))

    @display(description=_("waiting time"), ordering=WAITED)
    def waiting(self, message: Message) -> SafeString:
        return nowrap(waiting_text(message))

    @display(description=_("error"))
    def error(self, message: Message) -> str:
        return " ".join(part for part in (message.error_code, message.error_text) if part) or "–"

    @display(description=_("file"))
    def file_name(self, message: Message) -> SafeString:
        return format_html('<code class="pst-url">{}</code>', name_of(message))

    @display(description=_("failures in a row"))
    def tries(self, message: Message) -> str:
        words = gettext("%(count)s, offered after the others") if message.is_postponed else "%(count)s"
        return words % {"count": message.setbacks}

    @display(description=_("correlation id"))
    def chain(self, message: Message) -> SafeString | str:
        return trace_link(message.correlation_id)

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Message], search_term: str
    ) -> tuple[QuerySet[Message], bool]:
        text = search_term.strip()
        return (queryset.filter(search_condition(text)) if text else queryset), False

    def get_urls(self) -> list[URLPattern]:
        page = self.admin_site.admin_view(lambda request: missing_files_view(self, request))
        return [path("missing/", page, name="messaging_message_missing"), *super().get_urls()]

    def has_requeue_permission(self, request: HttpRequest, object_id: str | None = None) -> bool:
        """Offer the action to operators, for a message that ended in Error."""
        if not request.user.has_perm(f"records.{permission(Scope.OPERATIONS)}"):
            return False
        message = None if object_id is None else self.get_object(request, object_id)
        return message is None or is_requeuable(message)

    def has_set_aside_permission(self, request: HttpRequest, object_id: str | None = None) -> bool:
        """Offer the action to operators, for a message that waits for a database."""
        if not request.user.has_perm(f"records.{permission(Scope.OPERATIONS)}"):
            return False
        message = None if object_id is None else self.get_object(request, object_id)
        return message is None or can_be_set_aside(message)

    def has_bring_back_permission(self, request: HttpRequest, object_id: str | None = None) -> bool:
        if not request.user.has_perm(f"records.{permission(Scope.OPERATIONS)}"):
            return False
        message = None if object_id is None else self.get_object(request, object_id)
        return message is None or message.set_aside_at is not None

    def has_download_permission(self, request: HttpRequest, object_id: str | None = None) -> bool:
        message = None if object_id is None else self.get_object(request, object_id)
        return self.has_view_permission(request) and (message is None or message.file_gone_at is None)

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        message = self.get_object(request, object_id) if self.has_view_permission(request) else None
        page = None if message is None else build_message_page(request, message)
        return super().change_view(request, object_id, form_url, {**(extra_context or {}), "page": page})

    @admin.action(description=_("Put back into the queue"), permissions=["requeue"])
    def requeue_chosen(self, request: HttpRequest, chosen: QuerySet[Message]) -> HttpResponse | None:
        return requeue_many(self, request, chosen)

    @action(description=_("Put back into the queue"), permissions=["requeue"], url_path="requeue", icon="undo")
    def requeue(self, request: HttpRequest, object_id: str) -> HttpResponse:
        message = get_subject(self, request, object_id)
        question = Question(
            title=gettext("Put this message back into the queue?"),
            text=gettext(
                "The database is offered it again, in its old place by time. Whatever the ERP may already have done "
                "with it is not undone: make sure that it can be processed again."
            ),
            button=gettext("Put back"),
        )

        def act(answers: dict[str, Any]) -> str:
            requeue_message(message_id=message.pk, reason=answers["reason"], actor=actor_of(request))
            return gettext("The message is back in the queue.")

        form = ReasonForm(request.POST if request.method == "POST" else None)
        return ask_then_act(self, request, message, question=question, act=act, form=form)

    @action(description=_("Set aside"), permissions=["set_aside"], url_path="set-aside", icon="pause_circle")
    def set_aside(self, request: HttpRequest, object_id: str) -> HttpResponse:
        message = get_subject(self, request, object_id)
        question = Question(
            title=gettext("Set this message aside?"),
            text=gettext(
                "The database is not offered it until somebody restores it. Its sender's receipt still says "
                "“waiting”, with your reason."
            ),
            button=gettext("Set aside"),
        )

        def act(answers: dict[str, Any]) -> str:
            set_aside_message(message_id=message.pk, reason=answers["reason"], actor=actor_of(request))
            return gettext("The message has been set aside.")

        form = ReasonForm(request.POST if request.method == "POST" else None)
        return ask_then_act(self, request, message, question=question, act=act, form=form)

    @action(description=_("Restore"), permissions=["bring_back"], url_path="bring-back", icon="play_circle")
    def bring_back(self, request: HttpRequest, object_id: str) -> HttpResponse:
        message = get_subject(self, request, object_id)
        question = Question(
            title=gettext("Restore this message?"),
            text=gettext("The database is offered it again, in its old place by time; its count of failures is reset."),
            button=gettext("Restore"),
        )

        def act(answers: dict[str, Any]) -> str:
            bring_back_message(message_id=message.pk, reason=answers["reason"], actor=actor_of(request))
            return gettext("The message is offered again.")

        form = ReasonForm(request.POST if request.method == "POST" else None)
        return ask_then_act(self, request, message, question=question, act=act, form=form)

    @action(description=_("Download"), permissions=["download"], url_path="download", icon="download")
    def download(self, request: HttpRequest, object_id: str) -> HttpResponseBase:
        message = get_subject(self, request, object_id)
        try:
            size, chunks = open_file(message)
        except ApplicationError as error:
            messages.error(request, explain(error))
            return HttpResponseRedirect(page_of(self, message))
        headers = {
            "Content-Disposition": f'attachment; filename="{name_of(message)}"',
            "Content-Length": str(size),
            # Should a browser show it all the same, its scripts must not run with the rights of this site.
            "Content-Security-Policy": "sandbox; default-src 'none'",
            "X-Content-Type-Options": "nosniff",
        }
        return StreamingHttpResponse(stream(chunks), content_type="application/json", headers=headers)
