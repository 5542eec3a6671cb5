import re
from typing import Any

import pytest
from django.http import QueryDict

from processes.workflows.admin.tasks.form import LONGEST_TEXT, MOST_DIGITS, TaskForm
from processes.workflows.engine.definition import FormField, TextValue
from processes.workflows.engine.dmn.model import FeelExpression
from processes.workflows.engine.expressions import compile_expression
from processes.workflows.engine.feel import build_evaluator, parse_expression
from processes.workflows.engine.patterns import compile_pattern

FIELDS = (
    FormField("amount", "Amount", "number", is_required=True, minimum=1, maximum=99.5),
    FormField("pieces", "Pieces", "number", is_whole=True),
    FormField("customer", "Customer", min_length=2, max_length=5),
    FormField("size", "Size", "choice", choices=("s", "l"), choice_labels=("Small", "Large")),
    FormField("seen", "Seen", is_read_only=True, is_required=True),
    FormField("why", "Why", is_long=True),
)


def fill(**answers: str) -> TaskForm:
    sent = {"amount": "5", "pieces": "1", "customer": "Acme", "size": "s", **answers}
    return TaskForm(FIELDS, {"seen": "before"}, {f"answer-{name}": value for name, value in sent.items()})


def _feel(text: str) -> FeelExpression:
    node = parse_expression(text)
    return FeelExpression(text, node, build_evaluator(node))


class TestLimits:
    @pytest.mark.parametrize(("field", "most"), [("why", "x" * LONGEST_TEXT), ("pieces", "9" * MOST_DIGITS)])
    def test_so_much_is_taken_and_not_one_more(self, field: str, most: str) -> None:
        assert field not in fill(**{field: most}).errors
        assert list(fill(**{field: most + most[0]}).errors) == [field]


class TestConditions:
    ASKED = (
        FormField("ok", "Fine", "boolean"),
        FormField("why", "Why not", is_required=True, hidden_by=_feel("ok")),
        FormField("who", "Who", is_required=True, hidden_by=_feel("known != null")),
    )

    def fill(self, known: dict[str, Any], **sent: str) -> TaskForm:
        return TaskForm(self.ASKED, known, {f"answer-{name}": value for name, value in sent.items()})

    def test_what_another_answer_hides_is_not_required_nor_sent(self) -> None:
        form = self.fill({"known": 1}, ok="on", why="because")
        assert form.is_valid(), form.errors
        assert form.variables == {"ok": True}

    def test_what_no_answer_hides_is_required(self) -> None:
        form = self.fill({"known": 1})
        assert list(form.errors) == ["why"]

    def test_what_a_variable_hides_is_not_shown(self) -> None:
        assert "who" not in TaskForm(self.ASKED, {"known": 1}).fields
        assert "who" in TaskForm(self.ASKED, {}).fields


class TestControls:
    FIELDS = (
        FormField("_note_1", "<b>Read</b> this", "note"),
        FormField("at", "At", "datetime"),
        FormField("hour", "Hour", "time"),
        FormField("colours", "Colours", "choices", choices=("r", "g"), choice_labels=("Red", "Green")),
        FormField("code", "Code", pattern=compile_pattern("[A-Z]{2}"), hint="Two letters"),
    )

    def test_answers_are_json(self) -> None:
        sent = {"at": ["2030-01-31T08:30"], "hour": ["10:15"], "colours": ["r", "g"], "code": ["AB"]}
        data = QueryDict(mutable=True)
        for name, values in sent.items():
            data.setlist(f"answer-{name}", list[str | bytes](values))
        form = TaskForm(self.FIELDS, {}, data)
        assert form.is_valid(), form.errors
        assert form.variables == {
            "at": "2030-01-31T08:30:00+00:00",
            "hour": "10:15:00",
            "colours": ["r", "g"],
            "code": "AB",
        }

    def test_shows_what_is_known(self) -> None:
        known = {"at": "2030-01-31T08:30:00+00:00", "hour": "10:15:00", "colours": ["g"]}
        shown = str(TaskForm(self.FIELDS, known))
        assert 'value="2030-01-31T08:30"' in shown
        assert 'value="10:15"' in shown
        assert 'pattern="[A-Z]{2}"' in shown
        assert "Two letters" in shown
        assert "&lt;b&gt;Read&lt;/b&gt; this" in shown
        assert re.search(r'value="g"[^>]*checked', shown)

    def test_the_server_matches_the_pattern_again(self) -> None:
        form = TaskForm(self.FIELDS, {}, {"answer-code": "abc"})
        assert list(form.errors) == ["code"]


class TestRules:
    def test_what_keeps_to_them_is_taken(self) -> None:
        form = fill(size="l", why="so")
        assert form.is_valid(), form.errors
        assert form.variables == {"amount": 5, "pieces": 1, "customer": "Acme", "size": "l", "why": "so"}

    @pytest.mark.parametrize(
        ("field", "typed"),
        [
            ("amount", ""),
            ("amount", "0.5"),
            ("amount", "100"),
            ("pieces", "1.5"),
            ("customer", "A"),
            ("customer", "Acme & Co"),
            ("size", "Small"),
        ],
    )
    def test_the_server_refuses_what_breaks_one(self, field: str, typed: str) -> None:
        form = fill(**{field: typed})
        assert not form.is_valid()
        assert list(form.errors) == [field]

    def test_the_browser_is_told_them(self) -> None:
        shown = str(TaskForm(FIELDS, {}))
        assert 'min="1"' in shown
        assert 'max="99.5"' in shown
        assert 'maxlength="5"' in shown
        assert 'minlength="2"' in shown
        assert "Large" in shown
        assert "<textarea" in shown

    def test_what_may_not_be_changed_is_shown_and_never_sent(self) -> None:
        form = fill(seen="after")
        assert form.is_valid(), form.errors
        assert "seen" not in form.variables
        assert form["seen"].value() == "before"


class TestDefaults:
    @pytest.mark.parametrize(
        ("field", "known", "shown"),
        [
            (FormField("a", "A", default=TextValue(("x",))), {}, "x"),
            (FormField("a", "A", default=TextValue(("x",))), {"a": "y"}, "y"),
            (FormField("a", "A", default=TextValue((compile_expression("=b"),))), {"b": "z"}, "z"),
            (FormField("a", "A", default=TextValue(("no ", compile_expression("${b}")))), {"b": 7}, "no 7"),
            (FormField("a", "A", default=TextValue((compile_expression("=1 / 0"),))), {}, None),
            (FormField("a", "A", "number", default=TextValue(("3",))), {}, 3),
            (FormField("a", "A", "number", default=TextValue(("many",))), {}, None),
            (FormField("a", "A", "boolean", default=TextValue(("true",))), {}, True),
            (FormField("a", "A", "boolean"), {}, False),
            (FormField("a", "A", "date"), {"a": "2030-01-31T10:00:00Z"}, "2030-01-31"),
        ],
    )
    def test_are_shown_while_the_variable_has_no_value(self, field: FormField, known: Any, shown: Any) -> None:
        assert TaskForm([field], known)["a"].value() == shown
