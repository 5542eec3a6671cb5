"""What alerts, events and log entries of this app name as their subject."""

from processes.exchange.models import ExchangeProcess

PREFIX = "process/"


def subject_of(process: ExchangeProcess) -> str:
    return f"{PREFIX}{process.pk}"
