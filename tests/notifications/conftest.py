from collections.abc import Callable, Sequence

import pytest

from notifications import followers
from notifications.followers import Following, follow
from notifications.models import Event


@pytest.fixture
def following(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Following]:
    """Register followers for one test; the product's own ones stay out of it."""
    monkeypatch.setattr(followers, "_followings", {})

    def register(handle: Callable[[Sequence[Event]], None], name: str = "listener", **options: object) -> Following:
        made = Following(name=name, handle=handle, **options)  # type: ignore[arg-type]
        follow(made)
        return made

    return register
