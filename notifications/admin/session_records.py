"""The page that edits the records of a session, guarded by the change that the user has seen."""

from typing import Any

from django import forms
from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from config.admin_base.json_text import format_json, json_widget, parse_typed_json
from config.admin_base.pages import actor_of, page_of
from config.admin_base.theme import ModelAdmin
from config.common.errors import Conflict
from notifications.errors import SessionNotFound, SessionTooLong, StaleChange
from notifications.models import RepeatSession, SessionRecord
from notifications.sessions.operator_actions import edit_records

LONGEST_EDITED = 131_072
"""In bytes of compact JSON: laid out, they still fit into one request."""


LIST = "admin:notifications_repeatsession_changelist"


class SessionInUse(Conflict):
    """The session is in use right now. Nothing has been saved; your text is still here."""


class RecordsForm(forms.Form):
    change = forms.IntegerField(min_value=0, max_value=2**63 - 1, widget=forms.HiddenInput)
    records = forms.CharField(
        label=_("Records"),
        strip=False,
        help_text=_("A JSON list. Each item is one record."),
        widget=json_widget(rows=22),
    )

    def clean_records(self) -> list[Any]:
        """Read the JSON by the rules of REST."""
        records = parse_typed_json(self.cleaned_data["records"])
        if not isinstance(records, list):
            raise forms.ValidationError(gettext("Must be a list."))
        return records


def is_editable(session: RepeatSession) -> bool:
    """Return whether the records may be edited here: the session is not active, and they fit on a page."""
    return session.status != RepeatSession.Status.ACTIVE and session.length <= LONGEST_EDITED


def records_view(model_admin: ModelAdmin[RepeatSession], request: HttpRequest, object_id: str) -> HttpResponse:
    """Show the records; on POST replace them by the typed ones, unless the session has changed since."""
    session = model_admin.get_object(request, object_id)
    if request.method != "POST":
        if session is None:
            raise Http404
        form = RecordsForm(initial={"change": session.change, "records": _text_of(session)})
        return _show(model_admin, request, session, form)
    form = RecordsForm(request.POST)
    if form.is_valid() and _save(request, session, form) and session is not None:
        messages.success(request, gettext("The records have been replaced."))
        return HttpResponseRedirect(page_of(model_admin, session))
    return _show(model_admin, request, model_admin.get_object(request, object_id), form)


def _save(request: HttpRequest, session: RepeatSession | None, form: RecordsForm) -> bool:
    """Return whether the records were saved; if not, the form has the reason and the typed text."""
    change, records = form.cleaned_data["change"], form.cleaned_data["records"]
    try:
        if session is None:
            raise SessionNotFound
        if session.change == change and not is_editable(session):
            raise SessionInUse
        edit_records(session_id=session.pk, change=change, records=records, actor=actor_of(request))
    except StaleChange as error:
        _keep_what_was_typed(form, error.data["change"])
    except SessionTooLong as error:
        words = gettext("The compact JSON has %(length)s bytes; the theme allows %(limit)s.")
        form.add_error("records", words % {"length": error.data["length"], "limit": error.data["limit"]})
    except (SessionNotFound, SessionInUse) as error:
        form.add_error(None, error.message)
    return form.is_valid()


def _keep_what_was_typed(form: RecordsForm, newest: int) -> None:
    """Report that somebody was faster. The form holds the newest change from now on, so it can be sent again."""
    said = gettext(
        "The session has changed while you were writing. Nothing has been saved and your text is still here; the "
        "current records are shown below. Save again to replace them with your text."
    )
    form.add_error(None, said)
    form.data = {"records": form.data["records"], "change": str(newest)}


def _show(
    model_admin: ModelAdmin[RepeatSession], request: HttpRequest, session: RepeatSession | None, form: RecordsForm
) -> HttpResponse:
    is_overtaken = session is not None and form.is_bound and bool(form.non_field_errors())
    context = {
        **model_admin.admin_site.each_context(request),
        "opts": model_admin.opts,
        "title": gettext("Records of a session"),
        "original": session,
        "form": form,
        "newest": _text_of(session) if session is not None and is_overtaken else None,
        "back": page_of(model_admin, session) if session is not None else reverse(LIST),
    }
    return TemplateResponse(request, "admin/notifications/repeatsession/records.html", context)


def _text_of(session: RepeatSession) -> str:
    if session.length > LONGEST_EDITED:
        return ""
    bodies = SessionRecord.objects.filter(session=session).order_by("position").values_list("body", flat=True)
    return format_json(f"[{','.join(bodies)}]", longest=3 * LONGEST_EDITED)
