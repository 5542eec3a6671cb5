"""The loop of the ERP: it recovers at its start, exchanges while there is something, and waits between."""

import threading
from collections.abc import Callable
from dataclasses import dataclass, field

from processes.exchange.reference.client import NoAnswer, Server
from processes.exchange.reference.erp import Ending, Options, Outcome, exchange_once, recover
from processes.exchange.reference.hooks import Hooks
from processes.exchange.reference.store import STORE_ERRORS, Store


@dataclass
class Erp:
    """One ERP with its server and its own database, for one thread."""

    server: Server
    store: Store
    options: Options = field(default_factory=Options)
    hooks: Hooks = field(default_factory=Hooks)
    stop: threading.Event = field(default_factory=threading.Event)
    """Ends the loop; an exchange that is under way is interrupted by API_6 unless it has come to API_3."""
    _has_recovered: bool = False

    def run_until(self, is_last: Callable[[Outcome], bool], *, every: float, report: Callable[[Outcome], None]) -> None:
        """Exchange until an outcome is the last or `stop` is set; wait `every` seconds where there is nothing to do."""
        while not self.stop.is_set():
            outcome = self.run_once()
            report(outcome)
            if is_last(outcome):
                return
            if outcome.ending != Ending.DONE:
                self.stop.wait(every)

    def run_once(self) -> Outcome:
        """Exchange once, and the first time settle before it what an earlier life left open."""
        try:
            if not self._has_recovered:
                recover(self.server, self.store, self.options.worker)
                self._has_recovered = True
            return exchange_once(self.server, self.store, self.options, self.hooks, self.stop.is_set)
        except NoAnswer as error:
            return Outcome(Ending.NO_ANSWER, text=str(error))
        except STORE_ERRORS as error:
            return self._reopen_store(str(error))

    def close(self) -> None:
        self.store.close()
        self.server.close()

    def _reopen_store(self, text: str) -> Outcome:
        try:
            self.store.reopen()
        except STORE_ERRORS as error:
            text = str(error)
        return Outcome(Ending.STORE_FAILED, text=text)
