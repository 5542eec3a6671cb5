"""What axe-core finds on a page against WCAG 2.2, levels A and AA, in both themes; and how far the page has shifted."""

from functools import cache
from importlib.resources import files
from typing import Any

from playwright.sync_api import Page

LEVELS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22a", "wcag22aa"]
THEMES = ("light", "dark")
# Colours that are on their way from one theme to the other are nobody's.
STILL = "*, ::before, ::after { animation: none !important; transition: none !important; }"
# Preloaded are sheets and media for rules about neither of which there is anything here; the whole result is large.
RUN = """only => axe.run(document, { runOnly: only, resultTypes: ["violations"], preload: false }).then(
    ({ violations }) => violations.map(({ id, nodes }) => ({
        id, count: nodes.length, places: nodes.slice(0, 3).map(({ target }) => target.join(" ")),
    })),
)"""
EVERY_RULE = {"type": "tag", "values": LEVELS}
RULES_OF_COLOUR = {"type": "rule", "values": ["color-contrast", "link-in-text-block"]}
"""What a theme can break alone."""
SHIFT = """() => new Promise((done) => {
    let sum = 0;
    new PerformanceObserver((list) => {
        for (const entry of list.getEntries()) if (!entry.hadRecentInput) sum += entry.value;
    }).observe({ type: "layout-shift", buffered: true });
    setTimeout(() => done(sum), 50);
})"""


@cache
def _script() -> str:
    return (files("axe_playwright_python") / "axe.min.js").read_text(encoding="utf-8")


def find_violations(page: Page) -> list[str]:
    """Return each broken rule with the first elements that break it, by theme."""
    page.evaluate(_script())
    page.add_style_tag(content=STILL)
    found = []
    for theme in THEMES:
        page.evaluate("dark => document.documentElement.classList.toggle('dark', dark)", theme == "dark")
        broken: list[dict[str, Any]] = page.evaluate(RUN, EVERY_RULE if theme == "light" else RULES_OF_COLOUR)
        found += [f"{theme}: {rule['id']} ({rule['count']}): {'; '.join(rule['places'])}" for rule in broken]
    return found


def shift_of(page: Page) -> float:
    """Return the cumulative layout shift of a page since it was loaded."""
    return float(page.evaluate(SHIFT))
