import re

import polib

from config.common.earlier_texts import TODAY
from tests.translations import CATALOG

_PLACE = re.compile(r"%\((\w+)\)s")


def test_what_earlier_versions_wrote_leads_to_texts_of_today() -> None:
    known = {entry.msgid for entry in polib.pofile(str(CATALOG))}
    assert set(TODAY.values()) <= known


def test_nothing_is_asked_for_that_an_earlier_version_did_not_store() -> None:
    lacking = {old: new for old, new in TODAY.items() if not set(_PLACE.findall(new)) <= set(_PLACE.findall(old))}
    assert lacking == {}
