from processes.exchange.models.process import ExchangeProcess, ProcessMessage

__all__ = ["ExchangeProcess", "ProcessMessage"]
