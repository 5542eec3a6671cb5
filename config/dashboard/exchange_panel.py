"""The panel of exchange processes as the server draws it first; from then on the page's script keeps it."""

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.urls import NoReverseMatch, reverse

from config.dashboard.live.processes import WATCHED, ProcessRow
from processes.exchange.models import ExchangeProcess

ENDED_ROWS = 5
ANY = UUID(int=0)
"""Stands for the process in the address that the script fills in."""


@dataclass(frozen=True)
class Share:
    status: str
    words: str
    count: int


@dataclass(frozen=True)
class ExchangePanel:
    at: datetime
    live: list[tuple[ProcessRow, str]]
    ended: list[tuple[ProcessRow, str]]
    """Each with the address of its page."""
    shares: list[Share]
    """How many processes under way are in each status."""
    words: str
    """Each status as people say it: JSON."""
    page: str
    """The address of the page of the process `any`, empty while there is none."""
    list_page: str
    any: str = str(ANY)
    rows: int = ENDED_ROWS


def build_panel(rows: Sequence[ProcessRow], *, at: datetime) -> ExchangePanel:
    counts = Counter(row.status for row in rows)
    page = _address("admin:exchange_exchangeprocess_change", str(ANY))
    shown = [(row, page.replace(str(ANY), str(row.id))) for row in rows]
    return ExchangePanel(
        at=at,
        live=[(row, page) for row, page in shown if row.is_watched],
        ended=[(row, page) for row, page in shown if not row.is_watched][:ENDED_ROWS],
        shares=[Share(status, str(status.label), counts[status]) for status in WATCHED],
        words=json.dumps({value: str(label) for value, label in ExchangeProcess.Status.choices}),
        page=page,
        list_page=_address("admin:exchange_exchangeprocess_changelist"),
    )


def _address(name: str, *arguments: str) -> str:
    """Return the address of a page, if the admin has it."""
    try:
        return reverse(name, args=arguments)
    except NoReverseMatch:
        return ""
