"""Rows of every kind that has a page, and the list of all pages that there are to be opened."""

import json
from collections.abc import Iterator
from datetime import datetime
from uuid import uuid4

from django.conf import settings

from bench.page_addresses import admin_pages
from processes.exchange.models import ExchangeProcess
from processes.exchange.services.settlement import put_in_doubt
from processes.workflows.models import WorkflowInstance
from processes.workflows.selectors import get_definition
from processes.workflows.services.batches.create import BatchRequest, carry_out, create_batch
from processes.workflows.services.batches.run import run_due_batches
from processes.workflows.services.definitions.drafts import save_draft
from processes.workflows.services.definitions.publish import publish_definition
from processes.workflows.services.definitions.scenarios import save_scenarios
from processes.workflows.services.start import StartRequest, start_instance
from tests.browser.installation import PAGES_FILE
from tests.page_refusals import REFUSALS
from tests.processes.exchange.scene import Scene
from tests.processes.workflows.decision_files import decision, dmn, table
from tests.processes.workflows.process_files import chain, user

ACTOR = "staff:olga"
INSPECTION, LONGER = (chain("inspection", user("look"), *more, user("report")) for more in ([], [user("measure")]))
TARIFF = dmn(decision("tariff", table(["doors"], ["price"], [["<= 10", "5"], ["> 10", "4"]]), name="Tariff"))
SCENARIOS = [{"name": "as usual", "steps": [{"complete": "look"}, {"expect": {"tasks": ["report"], "passes": ["x"]}}]}]
NO_DOCUMENTS = (
    "diagram.svg",
    "/card/",
    "/choices/",
    "/cards/",
    "/download/",
    "/sample/",
    "/source/",
    "/bad-lines/",
    "admin/search/",
    "/drawn-cards/",
)
"""In routes that are pictures, files and parts of pages."""
REFUSED = {**REFUSALS, "admin/notifications/theme/<path:object_id>/delete/": 403}
"""With what cannot be done to the first row here: the first theme is built into the product."""


def make_rows(now: datetime) -> None:
    _doubt(now)
    for source in (TARIFF, INSPECTION, LONGER):
        publish_definition(source=source, enterprise=None, actor=ACTOR, at=now)
    for door in ("Gate17", "Vault03", "TestSensor"):
        start_instance(StartRequest("inspection", record=f"sensor/{door}"), actor=ACTOR, at=now)
    save_scenarios(get_definition("inspection"), json.dumps(SCENARIOS), actor=ACTOR, at=now)
    save_draft(uuid4(), INSPECTION.decode(), version=0, origin=None, actor=ACTOR, at=now)
    chosen = WorkflowInstance.objects.filter(definition="inspection")
    wanted = {"definition": "inspection", "status": "active"}
    tried = create_batch(BatchRequest("set_variables", {"variables": {"shift": 2}}, wanted, True), chosen, actor=ACTOR)
    run_due_batches()
    carry_out(tried.pk, actor=ACTOR)
    create_batch(BatchRequest("migrate", {"revision": 1}, wanted, True), chosen, actor=ACTOR)
    while run_due_batches():
        pass


def _doubt(now: datetime) -> None:
    """Let an exchange end as nobody knows how."""
    settings.ALLOWED_HOSTS = [*settings.ALLOWED_HOSTS, "testserver"]  # under which the scene makes its calls
    scene = Scene("harbour")
    for number in (1, 2):
        scene.send(f"m{number}", {"count": number})
    process = scene.start()["process_id"]
    scene.prepare(process, {"m1": "PROCESSED", "m2": "PROCESSED_INCORRECT"})
    put_in_doubt(ExchangeProcess.objects.get(pk=process), at=now)
    scene.send("m3", {"count": 3})


def list_pages() -> None:
    """Write the address of every page of the admin beside the data, for whoever opens them."""
    (settings.DATA_DIR / PAGES_FILE).write_text(json.dumps(list(_find_pages())))


def is_part(route: str) -> bool:
    return any(each in route for each in NO_DOCUMENTS)


def _find_pages() -> Iterator[str]:
    is_history_there = False
    for page in admin_pages():
        if page.name.endswith("/history/"):  # the same page whatever it is about
            if is_history_there:
                continue
            is_history_there = True
        if page.address and page.name not in REFUSED and not page.is_download and not is_part(page.name):
            yield page.address
