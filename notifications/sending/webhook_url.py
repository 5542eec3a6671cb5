"""The rule of URLs that outgoing calls may be configured with."""

import re
from urllib.parse import urlsplit

LONGEST_URL = 500

_UNFIT_FOR_URL = re.compile(r"[\x00-\x20\x7f\\]")


def is_webhook_url(url: str) -> bool:
    """Return whether a URL may be stored; whether its address may be reached is decided at every attempt (`guard`)."""
    if not 1 <= len(url) <= LONGEST_URL or _UNFIT_FOR_URL.search(url):
        return False
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        return False
    return parts.scheme in {"http", "https"} and bool(parts.hostname) and "@" not in parts.netloc and port != 0
