"""Every file as another tool writes it does what its script says, and nothing in it is passed over in silence."""

import json
from datetime import UTC, datetime

import pytest

from processes.workflows.engine.definition import Definition, RetryPlan
from processes.workflows.engine.parser import ParsedFile, parse_definition, parse_file
from processes.workflows.engine.problems import InvalidDefinition
from processes.workflows.engine.runner import run_command
from tests.processes.workflows.corpus.player import CommandRecord, Player
from tests.processes.workflows.corpus.script import Command, read_step
from tests.processes.workflows.corpus.test_corpus import assert_step
from tests.processes.workflows.engine.dialects.foreign_elements import (
    CALLEE,
    HEAD,
    ForeignFile,
    chain,
    choice,
    extended,
)
from tests.processes.workflows.engine.dialects.foreign_files import FILES, POOLS
from tests.processes.workflows.engine.dialects.misplaced_files import DRAWN, MISPLACED
from tests.processes.workflows.engine.dialects.odd_files import ODD, ODD_DRAWN, ODD_TRANSLATED

ALL = FILES | MISPLACED | ODD


class ForeignPlayer(Player):
    def play(self, command: Command) -> CommandRecord:
        if command.name == "start":
            self.state = None
        happened = CommandRecord()
        for engine_command in self._translate(command):
            outcome = run_command(self.library, self.state, engine_command, self.at)
            self.state = json.loads(json.dumps(outcome.state, allow_nan=False))
            happened.add(outcome)
        return happened

    def library(self, key: str, revision: int | str | None) -> tuple[Definition, int]:
        if key == "callee":
            return parse_definition(CALLEE), 1
        return parse_definition(ALL[self.key].source), 1


class TestTranslateProcessFile:
    @pytest.mark.parametrize("name", ALL)
    def test_does_what_its_script_says(self, name: str) -> None:
        player = ForeignPlayer(name)
        for line in ALL[name].script.splitlines():
            if "refused" not in line:
                assert_step(player, read_step(line.replace("HelloX", "Hello\\u0020")))

    @pytest.mark.parametrize("name", ALL)
    def test_gives_the_same_definition_each_time(self, name: str) -> None:
        one, other = parse_file(ALL[name].source), parse_file(ALL[name].source)
        assert [list(each.nodes) for each in one.definitions] == [list(each.nodes) for each in other.definitions]
        assert one.report == other.report

    @pytest.mark.parametrize(("name", "entry"), (DRAWN | ODD_DRAWN).items())
    def test_lists_what_has_no_place_as_only_drawn(self, name: str, entry: tuple[str, str]) -> None:
        assert entry in [(drawn.element, drawn.what) for drawn in parse_file(ALL[name].source).report.drawn]

    @pytest.mark.parametrize(("name", "entry"), ODD_TRANSLATED.items())
    def test_lists_what_was_made_of_it(self, name: str, entry: tuple[str, str]) -> None:
        assert entry in [(each.element, each.after) for each in parse_file(ALL[name].source).report.translated]


class TestMalformed:
    @pytest.mark.parametrize("condition", ["${a +}", "${}", "a = 5", "=a >", "${a b}"])
    def test_what_is_written_wrongly_is_refused_and_not_asked_of_anybody(self, condition: str) -> None:
        with pytest.raises(InvalidDefinition, match="cannot be read"):
            parse_file(ForeignFile(choice(condition.replace(">", "&gt;")), "").source)

    def test_words_that_are_marked_as_formal_are_refused(self) -> None:
        formal = ' xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" xsi:type="tFormalExpression"'
        with pytest.raises(InvalidDefinition, match="cannot be read"):
            parse_file(ForeignFile(choice("the customer is rich", formal), "").source)


class TestLanguage:
    @pytest.mark.parametrize(
        ("language", "condition", "asks"),
        [
            ("http://www.mvel.org/2.0", "amount = 5", True),
            ("http://www.mvel.org/2.0", "amount == 5", False),
            ("https://www.omg.org/spec/DMN/20191111/FEEL/", "amount = 5", False),
            ("http://www.w3.org/1999/XPath", "${amount == 5}", False),
        ],
    )
    def test_of_a_file_counts_where_an_expression_names_none(self, language: str, condition: str, asks: bool) -> None:
        source = ForeignFile(choice(condition), "").source
        source = source.replace(b"<definitions ", f'<definitions expressionLanguage="{language}" '.encode(), 1)
        assert ("way~asks" in parse_definition(source).nodes) is asks


class TestIds:
    def test_stay_when_something_else_is_added(self) -> None:
        body = '<startEvent id="s"/><task id="a"/>{}<sequenceFlow sourceRef="s" targetRef="a"/>'
        before, after = (
            parse_definition(f'{HEAD}<process id="p">{body.format(more)}</process></definitions>'.encode())
            for more in ("", '<task id="b"/><sequenceFlow sourceRef="a" targetRef="b"/>')
        )
        assert set(before.flows) == {"flow~s~a"}
        assert set(after.flows) == {"flow~s~a", "flow~a~b"}

    def test_of_a_process_come_from_its_name(self) -> None:
        source = f'{HEAD}<process name="Order a part"><startEvent id="s"/></process></definitions>'.encode()
        assert parse_definition(source).key == "Order-a-part"


class TestSeveralProcesses:
    def test_each_executable_one_is_a_definition(self) -> None:
        parsed = parse_file(POOLS)
        assert [each.key for each in parsed.definitions] == ["buyer", "seller"]
        assert parse_definition(POOLS, "seller").key == "seller"
        assert ("drawn", "process") in [(entry.element, entry.what) for entry in parsed.report.drawn]

    def test_of_two_with_one_id_each_has_its_own(self) -> None:
        parsed = parse_file(POOLS.replace(b'<process id="seller"', b'<process id="buyer"'))
        assert [each.key for each in parsed.definitions] == ["buyer", "buyer-2"]
        assert ("id", "buyer", "buyer-2") in [(each.what, each.before, each.after) for each in parsed.report.translated]

    def test_a_message_flow_names_both_ends(self) -> None:
        buyer, seller = parse_file(POOLS).definitions
        assert [buyer.nodes["send"].event.name, seller.nodes["got"].event.name] == ["order", "order"]

    def test_all_that_are_filled_where_none_is_marked(self) -> None:
        source = POOLS.replace(b' isExecutable="true"', b"")
        assert [each.key for each in parse_file(source).definitions] == ["buyer", "seller", "drawn"]


class TestCalls:
    @pytest.mark.parametrize("name", ["Order a part", "orders/part"])
    def test_a_process_is_called_by_the_name_it_is_published_under(self, name: str) -> None:
        called = parse_definition(ForeignFile(chain(f'<callActivity id="c" calledElement="{name}"/>'), "").source)
        published = parse_definition(
            f'{HEAD}<process id="{name}"><startEvent id="s"/></process></definitions>'.encode()
        )
        assert called.nodes["c"].called == published.key


class TestReport:
    def test_lists_what_is_only_drawn_with_its_reason(self) -> None:
        drawn = {(entry.element, entry.what): entry for entry in parse_file(POOLS).report.drawn}
        beside = drawn["drawn", "process"]
        assert (beside.name, beside.is_picture, beside.is_whole) == ("Beside", True, True)
        assert beside.why == "The process is not executable."

    def test_shows_expressions_side_by_side(self) -> None:
        report = parse_file(FILES["JUEL condition"].source).report
        [entry] = [each for each in report.translated if each.what == "conditionExpression"]
        assert entry.before == "${amount gt 100 and not empty customer.name}"
        assert entry.after.startswith("amount > 100 and !(customer.name == null or")

    def test_names_the_topic_of_what_is_code(self) -> None:
        report = parse_file(FILES["operaton class"].source).report
        [entry] = [each for each in report.translated if each.what == "operaton:class"]
        assert (entry.before, entry.after) == ("org.example.Send", "external work, topic t")

    def test_what_is_ours_alone_has_nothing_to_say(self) -> None:
        source = f'{HEAD}<process id="p"><startEvent id="s"/><userTask id="u"/></process></definitions>'.encode()
        report = parse_file(source).report
        assert (report.translated, report.drawn, [entry.element for entry in report.runs]) == ([], [], ["s", "u"])


class TestRetries:
    @pytest.mark.parametrize(
        ("task", "tries", "pauses"),
        [
            (
                '<serviceTask id="t" camunda:type="external" camunda:topic="x">'
                + extended("<camunda:failedJobRetryTimeCycle>R3/PT10M</camunda:failedJobRetryTimeCycle>"),
                3,
                (600.0,),
            ),
            (
                '<serviceTask id="t" flowable:class="a.B">'
                + extended("<flowable:failedJobRetryTimeCycle>PT1M,PT5M</flowable:failedJobRetryTimeCycle>"),
                3,
                (60.0, 300.0),
            ),
            (
                '<serviceTask id="t" operaton:class="a.B"><multiInstanceLoopCharacteristics>'
                + extended("<operaton:failedJobRetryTimeCycle>R2/PT1S</operaton:failedJobRetryTimeCycle>")
                + "<loopCardinality>2</loopCardinality></multiInstanceLoopCharacteristics>",
                2,
                (1.0,),
            ),
            ('<serviceTask id="t">' + extended('<zeebe:taskDefinition type="x" retries="5"/>'), 5, ()),
            ('<serviceTask id="t">' + extended('<zeebe:taskDefinition type="x" retries="=4"/>'), 4, ()),
        ],
    )
    def test_are_those_of_the_work(self, task: str, tries: int, pauses: tuple[float, ...]) -> None:
        file = parse_file(ForeignFile(chain(f"{task}</serviceTask>"), "").source)
        assert file.definitions[0].nodes["t"].retry == RetryPlan(tries, pauses)
        assert f"attempts: {tries}" in [entry.after for entry in file.report.translated]

    @pytest.mark.parametrize(
        "task",
        [
            '<serviceTask id="t">'
            + extended('<zeebe:taskDefinition type="x" retries="=order.tries"/>')
            + "</serviceTask>",
            '<userTask id="t" camunda:asyncBefore="true">'
            + extended("<camunda:failedJobRetryTimeCycle>R3/PT10M</camunda:failedJobRetryTimeCycle>")
            + "</userTask>",
        ],
    )
    def test_that_have_no_effect_are_listed_as_drawn(self, task: str) -> None:
        file = parse_file(ForeignFile(chain(task), "").source)
        assert file.definitions[0].nodes["t"].retry is None
        assert [entry.element for entry in file.report.drawn] == ["t"]


class TestForms:
    def read(self, body: str) -> ParsedFile:
        return parse_file(f'{HEAD}<process id="p" isExecutable="true">{body}</process></definitions>'.encode())

    def test_of_a_task_are_translated(self) -> None:
        form = '<camunda:formData><camunda:formField id="a" type="string"/></camunda:formData>'
        file = self.read(chain(f'<userTask id="t">{extended(form)}</userTask>'))
        assert [(entry.what, entry.after) for entry in file.report.translated] == [
            ("camunda:formData", "the form of the task")
        ]
        assert file.report.drawn == []

    @pytest.mark.parametrize(
        ("task", "what"),
        [
            ('<userTask id="t">' + extended('<zeebe:formDefinition formId="f1"/>'), "form f1"),
            ('<userTask id="t" camunda:formRef="f1" camunda:formRefBinding="latest">', "form f1"),
            ('<userTask id="t" camunda:formKey="camunda-forms:deployment:f1.form">', "form f1.form"),
            ('<userTask id="t" camunda:formKey="embedded:app:x.html">', "camunda:formKey embedded:app:x.html"),
            (
                '<userTask id="t">'
                + extended(
                    '<camunda:formData><camunda:formField id="a"><camunda:validation><camunda:constraint'
                    ' name="validator" config="a.B"/></camunda:validation></camunda:formField></camunda:formData>'
                ),
                "constraint validator",
            ),
        ],
    )
    def test_that_are_missing_or_code_are_listed_as_drawn(self, task: str, what: str) -> None:
        assert [entry.what for entry in self.read(chain(f"{task}</userTask>")).report.drawn] == [what]

    def test_of_a_start_are_listed_as_drawn(self) -> None:
        start = '<startEvent id="s">' + extended('<activiti:formProperty id="a"/>') + "</startEvent>"
        assert [entry.what for entry in self.read(start).report.drawn] == ["activiti:formProperty"]

    def test_parts_that_are_not_shown_are_listed(self) -> None:
        form = (
            '{"id": "f1", "components": [{"type": "iframe", "label": "Map"}, {"type": "select", "key": "a",'
            ' "valuesKey": "list"}, {"type": "textfield", "key": "b", "validate": {"pattern": "(?!a)"}},'
            ' {"type": "button"}]}'
        )
        task = '<userTask id="t">' + extended('<zeebe:formDefinition formId="f1"/>') + "</userTask>"
        file = self.read(extended(f'<zeebe:userTaskForm id="f1">{form}</zeebe:userTaskForm>') + chain(task))
        assert [entry.what for entry in file.report.drawn] == ["iframe Map", "select a", "pattern (?!a)"]
        assert [field.name for field in file.definitions[0].nodes["t"].form] == ["a", "b"]


class TestPeople:
    def test_whose_a_task_is_runs_and_is_listed_as_translated(self) -> None:
        task = (
            '<userTask id="t" camunda:assignee="${empty boss ? &quot;anna&quot; : boss}"'
            ' camunda:candidateGroups="sales" camunda:dueDate="${bean.due()}"/>'
        )
        lanes = '<laneSet><lane id="l" name="Office"><flowNodeRef>t</flowNodeRef></lane></laneSet>'
        file = parse_file(
            f'{HEAD}<process id="p" isExecutable="true">{lanes}{chain(task)}</process></definitions>'.encode()
        )
        [definition] = file.definitions
        start = {"command": "start", "definition": ["p", 1], "variables": {"boss": "bob"}}
        state = run_command(lambda key, revision: (definition, 1), None, start, datetime(2030, 1, 1, tzinfo=UTC)).state
        [opened] = state["tasks"].values()
        assert (opened["people"]["assignee"], opened["people"]["groups"]) == ("bob", ["sales"])
        assert "bean.due()" in opened["people"]["notes"][0]
        told = {entry.what for entry in file.report.translated}
        assert {"camunda:assignee", "camunda:candidateGroups", "camunda:dueDate", "lane"} <= told
        assert file.report.drawn == []
