"""What the search palette answers to a member of staff."""

import re
from unittest.mock import patch

from django.test import Client

from config.admin_base import search

PAGE = "/admin/search/"


def found(browser: Client, text: str) -> dict[str, list[str]]:
    """Return the titles of the groups, each with the addresses of its answers, however busy the machine is."""
    with patch.multiple(search, LOOK_SECONDS=60.0, SEARCH_SECONDS=60.0):
        page = browser.get(PAGE, {"s": text}).content.decode()
    groups = re.findall(r'role="group" aria-label="([^"]+)"(.*?)</ul>', page, re.DOTALL)
    return {title: re.findall(r'href="([^"]+)"', answers) for title, answers in groups}
