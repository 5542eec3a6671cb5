from processes.exchange.models.process import ExchangeProcess, ProcessMessage
from processes.exchange.models.totals import CountedSpan, SpanTotal, TouchedHour

__all__ = ["CountedSpan", "ExchangeProcess", "ProcessMessage", "SpanTotal", "TouchedHour"]
