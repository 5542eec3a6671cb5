"""The admin's theme: name, marks, colours, menu. Values named by a path are called with the request."""

from typing import Any

from django.http import HttpRequest
from django.templatetags.static import static
from django.utils.translation import gettext_lazy as _


def _asset(name: str) -> Any:
    def address(request: HttpRequest) -> str:
        return static(f"postern/{name}")

    return address


UNFOLD: dict[str, Any] = {
    "SITE_TITLE": "Postern",
    "SITE_HEADER": "Postern",
    "SITE_SUBHEADER": _("Registry and history"),
    "SITE_URL": "",
    "SITE_ICON": _asset("mark.svg"),
    "SITE_FAVICONS": [{"rel": "icon", "type": "image/svg+xml", "href": _asset("mark.svg")}],
    "STYLES": [_asset("postern.css"), _asset("search.css")],
    # The last two are of lists and pages whose rows change; on others they do nothing.
    "SCRIPTS": [_asset("page.js"), _asset("search.js"), _asset("socket.js"), _asset("watch.js")],
    "SHOW_HISTORY": False,
    "SHOW_VIEW_ON_SITE": False,
    "BORDER_RADIUS": "8px",
    "DASHBOARD_CALLBACK": "config.dashboard.start_page.fill_context",
    "LOGIN": {"form": "config.access.sign_in.SignInForm"},
    "SIDEBAR": {"navigation": "config.dashboard.menu.navigation"},
    "COLORS": {
        # Petrol: 600 carries white text at a contrast of more than 5, 500 reads on the dark background.
        "primary": {
            "50": "oklch(98.2% .014 200)",
            "100": "oklch(95% .035 202)",
            "200": "oklch(90% .06 204)",
            "300": "oklch(83% .09 206)",
            "400": "oklch(76% .11 208)",
            "500": "oklch(66% .11 212)",
            "600": "oklch(49% .092 218)",
            "700": "oklch(43% .08 220)",
            "800": "oklch(37% .066 222)",
            "900": "oklch(31.5% .054 224)",
            "950": "oklch(23% .042 228)",
        },
    },
}
