"""What a page must not do, watched while a test uses it."""

from urllib.parse import urlsplit

from playwright.sync_api import ConsoleMessage, Page, Request, Response

# The modeler calls what its own library will drop one day.
NOT_OURS = "Error: ContextPad#getPad is deprecated"


class Watch:
    """Collects complaints of the console, broken answers and requests to other hosts."""

    def __init__(self, page: Page, host: str) -> None:
        self.host = host
        self.complaints: list[str] = []
        page.on("console", self._hear)
        page.on("pageerror", lambda error: self.complaints.append(f"error: {error}"))
        page.on("request", self._see_request)
        page.on("response", self._see_response)

    def _hear(self, message: ConsoleMessage) -> None:
        if message.type in ("error", "warning") and not message.text.startswith(NOT_OURS):
            self.complaints.append(f"console {message.type}: {message.text}")

    def _see_request(self, request: Request) -> None:
        address = urlsplit(request.url)
        if address.scheme not in ("data", "blob") and address.netloc != self.host:
            self.complaints.append(f"request to another host: {request.url}")

    def _see_response(self, response: Response) -> None:
        if response.status >= 400:
            self.complaints.append(f"{response.status}: {response.url}")


def sideways(page: Page) -> int:
    """Return by how many pixels the page is wider than the window."""
    return int(page.evaluate("document.documentElement.scrollWidth - window.innerWidth"))
