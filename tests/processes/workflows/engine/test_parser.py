"""Files that hold nothing to run are known by what is in them, and drawn."""

import pytest

from processes.workflows.engine.diagram import draw_diagram
from processes.workflows.engine.parser import identify_file, parse_file
from processes.workflows.engine.problems import InvalidDefinition

HEAD = (
    '<definitions xmlns="http://www.omg.org/spec/BPMN/20100524/MODEL"'
    ' xmlns:b="http://www.omg.org/spec/BPMN/20100524/DI" xmlns:dc="http://www.omg.org/spec/DD/20100524/DC">'
)
POOLS = '<participant id="a" name="A"/><participant id="b" name="B"/>'
PICTURES = {
    "collaboration": f'<collaboration id="c">{POOLS}<messageFlow id="m" sourceRef="a" targetRef="b"/></collaboration>',
    "conversation": f'<collaboration id="c">{POOLS}<conversation id="k"><participantRef>a</participantRef>'
    '</conversation><conversationLink id="l" sourceRef="a" targetRef="k"/></collaboration>',
    "choreography": f'<choreography id="c">{POOLS}<startEvent id="s"/><choreographyTask id="t"'
    ' initiatingParticipantRef="a"><participantRef>a</participantRef></choreographyTask></choreography>',
    "global task": '<globalUserTask id="c" name="Look"/>',
}


def write(body: str, drawn: str) -> bytes:
    shapes = "".join(
        f'<b:BPMNShape bpmnElement="{each}"><dc:Bounds x="0" y="0" width="100" height="80"/></b:BPMNShape>'
        for each in drawn
    )
    plane = f'<b:BPMNDiagram><b:BPMNPlane bpmnElement="c">{shapes}</b:BPMNPlane></b:BPMNDiagram>'
    return f"{HEAD}{body}{plane}</definitions>".encode()


class TestPictures:
    @pytest.mark.parametrize("name", PICTURES)
    def test_a_file_without_a_process_is_a_drawing(self, name: str) -> None:
        source = write(PICTURES[name], "ab")
        with pytest.raises(InvalidDefinition, match="no process"):
            parse_file(source)
        found = identify_file(source)
        assert found is not None
        assert (found.key, found.kind) == ("c", "bpmn")
        draw_diagram(source)

    def test_pools_are_drawn(self) -> None:
        svg = draw_diagram(write(PICTURES["collaboration"], "ab"))
        assert svg is not None
        assert [b'data-element="%s"' % each in svg for each in (b"a", b"b")] == [True, True]

    def test_a_diagram_without_shapes_is_none(self) -> None:
        body = '<process id="c"><startEvent id="s"/></process>'
        assert draw_diagram(write(body, "")) is None
        assert parse_file(write(body, "")).definitions[0].key == "c"

    def test_older_namespaces_are_known_too(self) -> None:
        bpmn = '<definitions xmlns="http://schema.omg.org/spec/BPMN/2.0"><process id="c"><x/></process></definitions>'
        found = identify_file(bpmn.encode())
        assert found is not None
        assert found.key == "c"

    @pytest.mark.parametrize("version", ["20131201", "20150516", "20151109"])
    def test_a_case_is_drawn_whichever_version_it_is_of(self, version: str) -> None:
        space = f"http://www.omg.org/spec/CMMN/{version}"
        source = (
            f'<definitions xmlns="{space}/MODEL" xmlns:d="{space}/CMMNDI" xmlns:dc="{space}/DC"><case id="c">'
            '<casePlanModel id="p"><planItem id="i" definitionRef="h"/><humanTask id="h" name="Look"/></casePlanModel>'
            '</case><d:CMMNDI><d:CMMNDiagram><d:CMMNShape cmmnElementRef="i"><dc:Bounds x="0" y="0" width="100"'
            ' height="80"/></d:CMMNShape></d:CMMNDiagram></d:CMMNDI></definitions>'
        )
        svg = draw_diagram(source.encode())
        assert svg is not None
        assert b'data-element="i"' in svg
