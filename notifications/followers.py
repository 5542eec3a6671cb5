"""The registry of followers: an app registers its handler of events in its `AppConfig.ready`."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from config.common.background.work import BackgroundWork, register_work
from notifications.models import Event

Handle = Callable[[Sequence[Event]], None]
GATHER_SECONDS = 0.1
"""Events recorded within this time are stamped, and handed over, together."""


@dataclass(frozen=True)
class Following:
    name: str
    handle: Handle
    """Take the events, in order of position. Raise `FollowerWaits` if the fault is not in the events."""
    outside: bool = False
    """Its effects are outside of the database (ClickHouse, sockets): it runs outside of a transaction, idempotent."""
    batch: int = 500


_followings: dict[str, Following] = {}


def follow(following: Following) -> None:
    """Register a follower; its work is woken whenever new positions have been stamped."""
    # The relay imports this module.
    from notifications.services.relay import relay_once

    _followings[following.name] = following
    register_work(
        BackgroundWork(name=work_name(following.name), run_once=partial(relay_once, following), gather=GATHER_SECONDS)
    )


def followings() -> list[Following]:
    return list(_followings.values())


def find_following(name: str) -> Following | None:
    return _followings.get(name)


def work_name(follower: str) -> str:
    return f"relay.{follower}"
