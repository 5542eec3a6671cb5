"""Windows for the tests: clean, and with what an earlier one has loaded, compiled and kept."""

import json
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, BrowserContext, Page, ViewportSize

STORED = "cookies,local_storage,indexeddb,cache_storage,service_workers"


class Windows:
    """Profiles of one browser. Scripts, styles and fonts stay in a profile: they are most of what a page costs."""

    def __init__(self, browser: Browser, address: str, *, patience: float) -> None:
        self._browser, self._address, self._patience = browser, address, patience
        self._free: dict[str, list[BrowserContext]] = {}
        self._taken: list[tuple[str, BrowserContext]] = []

    def open(
        self,
        *,
        viewport: ViewportSize,
        storage_state: Path | None = None,
        is_first_visit: bool = False,
        **options: Any,
    ) -> Page:
        """Return a page that knows no more of earlier ones than the files they had loaded; at a first visit not even
        those."""
        kind = json.dumps(options, sort_keys=True)
        free = self._free.get(kind)
        context = free.pop() if free and not is_first_visit else self._new(options)
        self._taken.append((kind, context))
        if storage_state is not None:
            context.add_cookies(json.loads(storage_state.read_text())["cookies"])
        page = context.new_page()
        page.set_viewport_size(viewport)
        return page

    def close(self) -> None:
        """Close what was opened, and forget who was signed in there and what was stored."""
        for kind, context in self._taken:
            keeper, *others = context.pages
            for page in others:
                page.close()
            session = context.new_cdp_session(keeper)
            session.send("Storage.clearDataForOrigin", {"origin": self._address, "storageTypes": STORED})
            session.detach()
            context.clear_cookies()
            self._free.setdefault(kind, []).append(context)
        self._taken.clear()

    def _new(self, options: dict[str, Any]) -> BrowserContext:
        """Make a profile with one page that stays: the process that draws its pages, and what that has, ends with the
        last one."""
        context = self._browser.new_context(**{"locale": "en", **options})
        context.set_default_timeout(self._patience)
        context.new_page().goto(f"{self._address}/healthz")
        return context
