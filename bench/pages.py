"""Pages: the server's time of every admin page and every reading call on a large database, against a small one.

Both databases are filled by the same statements (`bench/volume`): 1,000,000 sensors, 5,000,000 events, 1,000,000
deliveries, 200,000 messages and 100,000 workflow instances; and 1,000 rows of everything. `PAGES_SHARE` makes the large
one smaller. Every page is opened as its reader opens it, through the whole stack in one process, and the median counts;
files to be downloaded are no pages.
"""

import os
import statistics
from collections.abc import Iterator

from django.core.management import call_command
from django.test import Client as Browser

from bench.database_copies import copies, use
from bench.figure import Figure, report, seconds
from bench.page_addresses import Page, admin_pages, reading_calls
from bench.page_calls import Callers, make_callers, read_first
from bench.volume.fill import fill
from bench.volume.sizes import Sizes

LIMIT_MS = 200.0
SMALL = 1000
ROUNDS = 5
SHOWN = 25


def figures() -> list[Figure]:
    call_command("migrate", database="reader_main", verbosity=0)
    call_command("collectstatic", interactive=False, verbosity=0)
    with copies("small") as (small_database,):
        use(small_database)
        small = measure(Sizes.all_of(SMALL))
    large = measure(Sizes().scaled(float(os.environ.get("PAGES_SHARE", "1"))))
    show(small, large)
    slowest = max(large, key=lambda name: large[name])
    grown = find_grown(small, large)[0]
    print(f"slowest: {slowest}; grown most: {grown}", flush=True)
    return [
        report("pages, slowest", "ms", large[slowest], LIMIT_MS, must=1, aims=0.5),
        report("pages, growth", "ms", large[grown], max(small[grown], 1.0), must=3, aims=1.5),
    ]


def measure(sizes: Sizes) -> dict[str, float]:
    """Fill the database and return the milliseconds of every page."""
    fill(sizes, tell=lambda line: print(line, flush=True))
    return dict(_measure_all(make_callers()))


def _measure_all(callers: Callers) -> Iterator[tuple[str, float]]:
    callers.staff.get("/admin/")  # what a process reads once
    for page in [*admin_pages(), *reading_calls()]:
        caller = None if page.is_download else callers.find(page)
        if isinstance(caller, Browser):
            yield page.name, statistics.median(_milliseconds(caller, page) for _ in range(ROUNDS))


def _milliseconds(caller: Browser, page: Page) -> float:
    return seconds(lambda: read_first(caller.get(page.address))) * 1000


def find_grown(small: dict[str, float], large: dict[str, float]) -> list[str]:
    """Return the pages by how much longer they take on the large database, those that have grown most first."""
    return sorted(large, key=lambda name: large[name] / max(small.get(name, large[name]), 1.0), reverse=True)


def show(small: dict[str, float], large: dict[str, float]) -> None:
    """Print the slowest pages, and those that have grown most."""
    slowest = sorted(large, key=lambda name: -large[name])
    for title, names in (("slowest", slowest), ("grown most", find_grown(small, large))):
        print(f"{'ms':>8} {'small':>8}  {title}")
        for name in names[:SHOWN]:
            print(f"{large[name]:8.1f} {small.get(name, 0.0):8.1f}  {name}")
    over = [name for name, took in large.items() if took > LIMIT_MS]
    print(f"{len(large)} pages and calls, {len(over)} over {LIMIT_MS:.0f} ms", flush=True)
