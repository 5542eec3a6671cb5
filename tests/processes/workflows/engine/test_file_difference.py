from processes.workflows.engine.file_difference import compare_files

FILE = """<definitions xmlns="http://www.omg.org/spec/BPMN/20100524/MODEL" xmlns:p="https://postern.dev/bpmn/1.0">
  <process id="order">
    <startEvent id="start"><outgoing>a</outgoing></startEvent>
    <userTask id="check" name="Check"><extensionElements><p:form>amount</p:form></extensionElements></userTask>
    <sequenceFlow id="a" sourceRef="start" targetRef="check"/>
  </process>
  <BPMNDiagram xmlns="http://www.omg.org/spec/BPMN/20100524/DI" id="d"><BPMNPlane id="p"/></BPMNDiagram>
</definitions>"""


def names(before: str, after: str) -> tuple[list[str], ...]:
    found = compare_files(before.encode(), after.encode())
    return tuple([change.id for change in changes] for changes in (found.added, found.removed, found.changed))


class TestCompareFiles:
    def test_names_what_came_went_and_changed(self) -> None:
        after = FILE.replace('name="Check"', 'name="Check it"').replace(
            '<sequenceFlow id="a" sourceRef="start" targetRef="check"/>', '<endEvent id="end"/>'
        )

        assert names(FILE, after) == (["end"], ["a"], ["check"])
        assert compare_files(FILE.encode(), after.encode()).changed[0].name == "Check it"

    def test_a_part_without_an_id_belongs_to_its_element(self) -> None:
        assert names(FILE, FILE.replace("amount", "sum")) == ([], [], ["check"])

    def test_an_element_that_moves_into_another_has_changed(self) -> None:
        end = '<endEvent id="end"/>'
        outside = FILE.replace("</process>", f'<subProcess id="s"></subProcess>{end}</process>')
        inside = FILE.replace("</process>", f'<subProcess id="s">{end}</subProcess></process>')

        assert names(outside, inside) == ([], [], ["end"])

    def test_drawing_order_and_space_do_not_count(self) -> None:
        after = FILE.replace('id="d"', 'id="other"').replace("<outgoing>a</outgoing>", "").replace("    <", "<")

        assert names(FILE, after) == ([], [], [])
