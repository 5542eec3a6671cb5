import pytest

from processes.workflows.engine.bpmn.forms import MAX_CHOICES
from processes.workflows.engine.bpmn.parser import parse_bpmn
from processes.workflows.engine.definition import FormField
from tests.processes.workflows.engine.bpmn.source_files import find_problems, load, read_only, wrap


class TestHandlers:
    @pytest.mark.parametrize(
        ("task", "handler", "topic"),
        [
            ("by_attribute", "external", "labels"),
            ("by_text", "webhook", ""),
            ("by_name", "external", "prices"),
            ("by_value", "external", "stock"),
            ("told", "message", ""),
            ("in_python", "warehouse.reserve", ""),
            ("by_nobody", "external", "by_nobody"),
            ("sent_by_nobody", "external", "sent_by_nobody"),
        ],
    )
    def test_are_read_however_they_are_written(self, task: str, handler: str, topic: str) -> None:
        node = load("handlers").nodes[task]
        assert (node.handler, node.topic) == (handler, topic)

    def test_inputs_stand_beside_or_inside_the_handler(self) -> None:
        inputs = load("handlers").nodes["by_name"].inputs
        names = {"order": {"article": "bolt", "amount": 2}}
        assert {given.name: given.expression.evaluate(names) for given in inputs} == {"article": "bolt", "amount": 4}

    def test_a_topic_alone_is_an_external_task(self) -> None:
        node = read_only('<serviceTask id="t" postern:topic="labels" />')
        assert (node.handler, node.topic) == ("external", "labels")

    @pytest.mark.parametrize("handler", ["two words", "a/b", "1st", "x" * 201])
    def test_a_name_that_no_handler_could_have_is_refused(self, handler: str) -> None:
        problem = find_problems(wrap(f'<serviceTask id="t" postern:handler="{handler}" />'))[0]
        assert (problem.element, problem.line) == ("t", 4)

    def test_an_input_given_twice_is_refused(self) -> None:
        inputs = '<postern:input name="a" expression="1" />' * 2
        body = f'<serviceTask id="t"><extensionElements>{inputs}</extensionElements></serviceTask>'
        assert [problem.message for problem in find_problems(wrap(body))] == ["The input “a” is declared twice."]


class TestAssignments:
    @pytest.mark.parametrize(
        ("task", "assigned"),
        [
            ("by_elements", {"total": 6, "is_large": False}),
            ("by_attribute", {"a": 1, "b": True}),
            ("by_text", {"note": "one; two", "parts": [1, 2]}),
            ("by_script", {"сумма": 6, "is_small": True}),
            ("without_format", {"x": 1}),
            ("foreign", {"x": 2}),
        ],
    )
    def test_are_read_however_they_are_written(self, task: str, assigned: dict[str, object]) -> None:
        names: dict[str, object] = {"price": 2, "amount": 3}
        for assign in load("scripts").nodes[task].assigns:
            names[assign.name] = assign.expression.evaluate(names)
        assert {name: names[name] for name in assigned} == assigned
        assert len(names) == 2 + len(assigned)

    @pytest.mark.parametrize(
        ("text", "expected"),
        [
            ("total", "An assignment is written like total = a + b, not “total”."),
            ("a == 1", "An assignment is written like total = a + b, not “a == 1”."),
            ("true = 1", "“true” cannot be the name of a variable."),
            ("a.b = 1", "An assignment is written like total = a + b, not “a.b = 1”."),
            ("a = (1", "The expression “(1” cannot be read: "),
            ("a = 'x", "The expression “'x” cannot be read: "),
        ],
    )
    def test_what_assigns_nothing_is_refused(self, text: str, expected: str) -> None:
        problems = find_problems(wrap(f'<scriptTask id="t" postern:assign="{text}" />'))
        assert [problem.message[: len(expected)] for problem in problems] == [expected]

    def test_scripts_of_other_languages_are_refused(self) -> None:
        problems = find_problems(wrap('<scriptTask id="t" scriptFormat="groovy">\n<script>x = 1</script></scriptTask>'))
        assert [(problem.line, problem.message) for problem in problems] == [
            (5, "Scripts in “groovy” are not run: use postern:assign.")
        ]

    def test_a_script_task_without_any_is_refused(self) -> None:
        assert len(find_problems(wrap('<scriptTask id="t" />'))) == 1


class TestForms:
    def test_fields_as_elements(self) -> None:
        assert load("forms").nodes["long"].form == (
            FormField("amount", "How much", "number", is_required=True),
            FormField("comment", "comment"),
            FormField("colour", "colour", "choice", choices=("red", "green")),
            FormField("size", "size", "choice", choices=("S, M", "L")),
            FormField("until", "until", "date"),
        )

    def test_fields_in_short(self) -> None:
        assert load("forms").nodes["short"].form == (
            FormField("amount", "amount", "number", is_required=True),
            FormField("comment", "comment"),
            FormField("is_urgent", "is_urgent", "boolean"),
            FormField("size", "size", "choice", choices=("S", "M L")),
        )

    @pytest.mark.parametrize(
        ("form", "expected"),
        [
            ("amount:money", "The field amount has an unknown kind; there are text, number, boolean, date, choice."),
            ("a, b, a", "The form has two fields “a”."),
            ("size:choice", "The field size needs choices, at most 200."),
            ("two words", "A field is written like amount:number, not “two words”."),
            ("1st", "“1st” cannot be the name of a field."),
            (", ".join(f"f{number}" for number in range(101)), "A form has at most 100 fields."),
        ],
    )
    def test_what_cannot_be_shown_is_refused(self, form: str, expected: str) -> None:
        problems = find_problems(wrap(f'<userTask id="t" postern:form="{form}" />'))
        assert [problem.message for problem in problems] == [expected]

    def test_a_field_has_so_many_choices_and_not_one_more(self) -> None:
        form = '<userTask id="t" postern:form="size:choice(%s)" />'
        choices = [f"c{number}" for number in range(MAX_CHOICES + 1)]
        assert find_problems(wrap(form % "|".join(choices[1:]))) == ()
        (problem,) = find_problems(wrap(form % "|".join(choices)))
        assert problem.message == "The field size needs choices, at most 200."


class TestPlaces:
    @pytest.mark.parametrize("name", ["handlr", "assign", "form", "condition"])
    def test_an_extension_without_a_meaning_there_is_refused(self, name: str) -> None:
        problems = find_problems(wrap(f'<serviceTask id="t" postern:{name}="x = 1" />'))
        assert [problem.message for problem in problems] == [f"The extension postern:{name} has no meaning here."]

    def test_those_of_other_namespaces_are_ignored(self) -> None:
        body = '<other:thing xmlns:other="urn:o" /><userTask id="t" xmlns:o="urn:o" o:handler="1"><o:x/></userTask>'
        assert list(parse_bpmn(wrap(body)).nodes) == ["s", "t"]
