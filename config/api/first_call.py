"""The page “first call in five minutes”: from a key to a webhook whose signature has been checked."""

from pathlib import Path
from typing import Any

from django.conf import settings
from django.views.generic import TemplateView

from config.api.examples import SERVER

BLOCKS = ("key.sh", "register.sh", "receive.py", "signal.sh", "call.py")
"""In the order of the page; `docs/first-call.md` shows the same, and a test runs them."""


class FirstCallView(TemplateView):
    """Public, as the documentation of the API is; its commands call the server that shows it."""

    template_name = "api/first_call.html"

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        server = settings.PUBLIC_URL.geturl().rstrip("/")
        blocks = {name.replace(".", "_"): read_block(name, server=server) for name in BLOCKS}
        return {**super().get_context_data(**kwargs), "blocks": blocks, "server": server}


def read_block(name: str, *, server: str = SERVER) -> str:
    """Return a block of code of the page, with the address of a server in it."""
    text = (Path(settings.BASE_DIR) / "templates" / "api" / "first_call" / name).read_text(encoding="utf-8")
    return text.replace(SERVER, server)
