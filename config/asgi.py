"""The application as an ASGI server runs it: limits, then static files, then Django in its slots and web sockets."""

import os
from typing import Any, cast
from wsgiref.headers import Headers

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
django.setup(set_prefix=False)  # before what follows: consumers and middleware need the apps

from channels.routing import ProtocolTypeRouter, URLRouter  # noqa: E402
from django.conf import settings  # noqa: E402
from django.urls import re_path  # noqa: E402
from django.utils.module_loading import import_string  # noqa: E402
from servestatic import ServeStaticASGI  # noqa: E402

from config.access.known_browser import name_visitor  # noqa: E402
from config.access.sign_in_limits import FORM_BURST, FORM_RATE  # noqa: E402
from config.audit.refusals import record_early_refusal  # noqa: E402
from config.common.web.handler import ThreadedHandler  # noqa: E402
from config.common.web.limits.buckets import Buckets, Metered  # noqa: E402
from config.common.web.limits.calls import Gate, Limits  # noqa: E402
from config.common.web.limits.lanes import SIGN_IN, make_lanes  # noqa: E402
from config.common.web.same_origin import SameOrigin  # noqa: E402
from config.runtime.probes import Probes  # noqa: E402


async def _refuse_socket(scope: Any, receive: Any, send: Any) -> None:
    """Close a web socket to a path that is not there."""
    await send({"type": "websocket.close"})


def _add_headers(headers: Headers, path: str, url: str) -> None:
    headers["X-Content-Type-Options"] = "nosniff"


# By name: the dashboard stands beside this module, not below it.
_dashboard = import_string("config.dashboard.live.routing.sockets")
# Each socket asks for itself who is there: it must ask again while it is open.
_sockets = URLRouter([*_dashboard, re_path("", cast(Any, _refuse_socket))])
_django = ThreadedHandler(make_lanes(**settings.WEB_SLOTS))
_sign_ins = Buckets(rate=FORM_RATE, burst=FORM_BURST)
_protocols = ProtocolTypeRouter(
    {
        "http": Metered(cast(Any, _django), method="POST", path=SIGN_IN, buckets=_sign_ins, name_of=name_visitor),
        "websocket": SameOrigin(_sockets),
    }
)
# The folder is made by `collectstatic`; until then there is nothing to serve.
_files = ServeStaticASGI(
    _protocols,
    root=settings.STATIC_ROOT if settings.STATIC_ROOT.is_dir() else None,
    prefix=settings.STATIC_URL,
    allow_all_origins=False,
    add_headers_function=_add_headers,
)
application = Limits(
    Probes(Gate(_files, path=settings.STATIC_URL, calls=2 * settings.WEB_CONCURRENCY)),
    body_limits=settings.BODY_LIMITS,
    calls=settings.WEB_CONNECTIONS,
    on_refusal=lambda scope, refusal: record_early_refusal(
        scope["method"], scope["path"], refusal.status, refusal.code
    ),
    check_head=_django.check_head,
)
