import json
import logging
import subprocess
import sys

from django.test import RequestFactory

from config.logs import _leave_query_out

PROGRAM = """
import logging
from django.test import RequestFactory
from config.logs import logging_config
logging_config("INFO")
request = RequestFactory().get("/api/v1/sensors/?token=wombat")
logging.getLogger("django.security").warning("Forbidden: %s", request.path, extra={"request": request})
"""


class TestLeaveQueryOut:
    def test_names_the_call_by_its_path_alone(self) -> None:
        request = RequestFactory().get("/api/v1/sensors/?token=wombat")
        assert _leave_query_out(logging, "warning", {"request": request}) == {"call": "GET /api/v1/sensors/"}

    def test_what_django_tells_of_a_call_has_no_query(self) -> None:
        done = subprocess.run(
            [sys.executable, "-c", "from django.conf import settings; settings.configure()\n" + PROGRAM],
            capture_output=True,
            text=True,
        )
        assert json.loads(done.stderr)["call"] == "GET /api/v1/sensors/"
        assert "wombat" not in done.stderr
