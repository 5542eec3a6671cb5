"""Which slots a call takes: no kind of call can keep out another."""

from dataclasses import dataclass

from config.common.web.limits.processor import Processor
from config.common.web.limits.slots import Slots

API = "/api/"
SIGN_IN = "/admin/login/"
METRICS = "/metrics"
HEARING = "/hearing"
"""Where a web process calls itself; among the calls of the API, for it asks whether those are served."""
LARGE_BODY = 262_144
"""More than a list of a thousand signals; what is larger is for few threads, of which each caller has one."""
LARGE_EACH = 1
"""Of one caller at once: it computes all the while, so two of them would take no less time than one after the other."""
SIGN_IN_PATIENCE = LARGE_PATIENCE = 10.0
"""For what takes long and has few slots."""


@dataclass(frozen=True)
class Lanes:
    api: Slots
    large: Slots
    """A body that is parsed costs several times its size in memory: few at once."""
    pages: Slots
    sign_in: Slots
    """A password costs half a second of CPU."""
    metrics: Slots
    processor: Processor

    def lane_of(self, method: str, path: str, body_size: int) -> Slots:
        if body_size > LARGE_BODY:
            return self.large
        if path.startswith(API) or path == HEARING:
            return self.api
        if path == METRICS:
            return self.metrics
        return self.sign_in if path == SIGN_IN and method == "POST" else self.pages


def make_lanes(*, api: int, large: int, pages: int, sign_in: int, metrics: int) -> Lanes:
    processor = Processor()
    return Lanes(
        api=Slots(api, name="call", processor=processor),
        large=Slots(large, name="large", patience=LARGE_PATIENCE, each=LARGE_EACH, processor=processor),
        pages=Slots(pages, name="page", processor=processor),
        sign_in=Slots(sign_in, name="sign-in", patience=SIGN_IN_PATIENCE),
        metrics=Slots(metrics, name="metrics"),
        processor=processor,
    )
