from config.common.errors import ApplicationError


class HistoryAway(ApplicationError):
    """History is not available at the moment; nothing is lost. Repeat the call a little later."""

    status = 503
    retry_after = 5


class HistorySilent(HistoryAway):
    """History is not available at the moment; nothing is lost. Repeat the call a little later."""

    code = "history_away"


class HistoryRefused(Exception):
    """The store cannot hold a value of this batch, now or later."""
