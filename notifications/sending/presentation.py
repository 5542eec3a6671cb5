"""The texts of messages about alerts and of notices to a person: a mail's subject and body, the one line of an SMS.

They are worded when they are sent, in the language of the installation.
"""

from typing import Any

from django.conf import settings
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils import translation
from django.utils.translation import gettext, ngettext

from config.common.text_templates import on_one_line, render_text
from config.common.web.links import absolute_url
from notifications.presentation import say_details
from notifications.services.alert_messages import SEVERAL, list_entries

LONGEST_SUBJECT = 200
LONGEST_SMS = 300


def mail_subject(body: dict[str, Any]) -> str:
    """Return the subject of a mail, on one line."""
    with translation.override(settings.LANGUAGE_CODE):
        return _cut(f"[Postern] {_headline(body)}", LONGEST_SUBJECT)


def mail_text(body: dict[str, Any]) -> str:
    with translation.override(settings.LANGUAGE_CODE):
        if body.get("notice"):
            context = {**_context(body), "settings_page": absolute_url(body.get("settings_page") or "")}
            return render_to_string("notifications/notice.txt", context)
        entries = list_entries(body)
        if len(entries) == 1:
            return render_to_string("notifications/alert.txt", _context(entries[0]))
        context = {"headline": _headline(body), "entries": [_context(entry) for entry in entries]}
        return render_to_string("notifications/alerts.txt", {**context, "page": alert_url(body)})


def sms_text(body: dict[str, Any]) -> str:
    """Return the text of an SMS: one line, cut to what gateways take; the link at its end stays whole."""
    with translation.override(settings.LANGUAGE_CODE):
        link = subject_url(body) or alert_url(body)
        end = f" {link}" if link else ""
        return _cut(f"Postern: {_headline(body)}", LONGEST_SMS - len(end)) + end


def _context(body: dict[str, Any]) -> dict[str, Any]:
    return {
        **body,
        "headline": _headline(body),
        "details": say_details(body.get("detail") or {}),
        "note": render_text(body.get("note") or "", {}),
        "page": alert_url(body),
        "object_page": subject_url(body),
    }


def alert_url(body: dict[str, Any]) -> str:
    """Return the address of the alert's page, or of the list for several; empty if it was sent without the database."""
    if body.get("type") == SEVERAL:
        return absolute_url(reverse("admin:notifications_alert_changelist"))
    if body.get("id") is None:
        return ""
    return absolute_url(reverse("admin:notifications_alert_change", args=[body["id"]]))


def subject_url(body: dict[str, Any]) -> str:
    """Return the address of the page of the alert's subject; empty if it has none."""
    return absolute_url(body.get("page") or "")


def _headline(body: dict[str, Any]) -> str:
    if body.get("type") == SEVERAL:
        titles = [_headline(entry) for entry in list_entries(body)]
        said = ngettext("%(count)s alert: %(titles)s", "%(count)s alerts: %(titles)s", len(titles))
        return said % {"count": len(titles), "titles": "; ".join(titles)}
    title = render_text(body.get("title", ""), body.get("detail") or {})
    if body.get("type") == "alert.closed":
        return gettext("Closed: %(title)s") % {"title": title}
    return title


def _cut(text: str, longest: int) -> str:
    text = on_one_line(text)
    return text if len(text) <= longest else f"{text[: longest - 1]}…"
