"""Every element of other engines is accepted, and nothing of theirs is passed over in silence."""

import pytest
from lxml import etree

from processes.workflows.engine.bpmn.file import BPMN
from processes.workflows.engine.dialects.vendors import QUIET, get_prefix
from processes.workflows.engine.parser import parse_file
from processes.workflows.engine.problems import InvalidDefinition
from tests.processes.workflows.engine.dialects.vendor_elements import ELEMENTS, IN_EVENTS, UNSAID


def list_refused(sources: list[bytes]) -> list[str]:
    refused = []
    for source in sources:
        try:
            parse_file(source)
        except InvalidDefinition as error:
            refused.append(f"{error.problems[0].message}: {source.decode()[-400:]}")
    return refused


def list_unsaid(source: bytes) -> list[str]:
    """Return what another engine says in a file and no list of the report names."""
    report = parse_file(source).report
    told = " ".join(f"{each.what} {each.before} {each.after}" for each in report.translated)
    told += " ".join(f"{each.what} {each.why}" for each in report.drawn)
    left_out = {each.what for each in report.drawn}
    found = []
    for element in etree.fromstring(source).iter():
        name = etree.QName(element)
        around = [etree.QName(each).localname for each in (element, *element.iterancestors())]
        if not left_out.isdisjoint(around):
            continue  # with the element that it is a part of
        if name.namespace != BPMN and not any(each in told for each in around[: around.index("extensionElements")]):
            found.append(name.localname)
        for key, value in element.attrib.items():
            attribute = etree.QName(key)
            is_foreign = attribute.namespace is not None and get_prefix(attribute.namespace) not in QUIET
            if is_foreign and attribute.localname not in told and value not in told:
                found.append(attribute.localname)
    return [each for each in found if each not in UNSAID]


class TestElements:
    @pytest.mark.parametrize("sources", [ELEMENTS, IN_EVENTS], ids=["activities", "events"])
    def test_all_are_accepted(self, sources: list[bytes]) -> None:
        assert list_refused(sources) == []

    @pytest.mark.parametrize("sources", [ELEMENTS, IN_EVENTS], ids=["activities", "events"])
    def test_none_is_passed_over_in_silence(self, sources: list[bytes]) -> None:
        assert [(unsaid, source.decode()[-300:]) for source in sources if (unsaid := list_unsaid(source))] == []
