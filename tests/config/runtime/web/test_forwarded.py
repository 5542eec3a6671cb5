"""Whom the web server believes about where a call comes from."""

from collections.abc import Iterator

import pytest

from tests.faults.product import Product
from tests.faults.wait import wait_until

pytestmark = pytest.mark.slow

OUTSIDE, INSIDE = "198.51.100.9", "203.0.113.5"


@pytest.fixture(scope="module", params=[{}, {"FORWARDED_ALLOW_IPS": "127.0.0.1"}])
def product(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Product]:
    """A web server alone, whose metrics are open to one network."""
    folder = tmp_path_factory.mktemp("forwarded")
    variables = {"METRICS_ALLOWED_NETWORKS": f"{INSIDE}/32", **request.param}
    running = Product(folder, **variables, DATABASE_URL="postgresql://u@127.0.0.1:1/none")
    running.process = running.spawn("run_web", log=folder / "up.log")
    try:
        assert wait_until(lambda: running.get("/healthz")[0] == 200, 60), running.read_log()
        yield running
    finally:
        running.kill()


class TestForwardedFor:
    def test_is_believed_of_the_proxies_that_are_named_and_of_nobody_else(self, product: Product) -> None:
        status, _ = product.get("/metrics", **{"X-Forwarded-For": INSIDE})
        assert (status == 200) == ("FORWARDED_ALLOW_IPS" in product.environment)

    def test_only_what_the_proxy_itself_has_added_counts(self, product: Product) -> None:
        status, _ = product.get("/metrics", **{"X-Forwarded-For": f"{INSIDE}, {OUTSIDE}"})
        assert status in (401, 503)
