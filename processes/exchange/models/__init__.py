from processes.exchange.models.process import ExchangeProcess, ProcessMessage
from processes.exchange.models.totals import COUNTED, CountedSpan, SpanTotal, TouchedHour

__all__ = ["COUNTED", "CountedSpan", "ExchangeProcess", "ProcessMessage", "SpanTotal", "TouchedHour"]
