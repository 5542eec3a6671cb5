import ast
from pathlib import Path

import pytest
from django.utils.translation import override

import processes.workflows
from processes.workflows.reasons import translate_reason

FOLDER = Path(processes.workflows.__file__).parent


class TestTranslateReason:
    @pytest.mark.parametrize(
        ("reason", "russian"),
        [
            ("The instance is suspended.", "Статус экземпляра: приостановлен."),
            ("The instance is not suspended.", "Экземпляр не приостановлен."),
            ("An item that is active cannot be started.", "Элемент нельзя начать: его состояние — активен."),
            ("Nothing waits for the message paid.\nNow.", "Сообщения paid.\nNow никто не ждёт."),
            ("Something new.", "Something new."),
            ("There is no definition order.", "Нет определения order."),
            (
                "Nothing in the instance can move any more: this join still waits for “A”, “B”, and no token can come.",
                "В экземпляре больше ничто не может сдвинуться: это слияние всё ещё ждёт «A», «B», но токенов оттуда "
                "уже не будет.",
            ),
            ("10 / parts: division by zero", "10 / parts: деление на ноль"),
            (
                '{"a": b}.a + 1: text and a number cannot be added: use string(…) or number(…)',
                '{"a": b}.a + 1: текст и число сложить нельзя: используйте string(…) или number(…)',
            ),
            (
                "a < b: null and a number cannot be compared by < (not set: a)",
                "a < b: такие значения нельзя сравнить операцией < (null, число) (не заданы: a)",
            ),
            (
                "number(\"x: y\"): number cannot read 'x: y'",
                "number(\"x: y\"): функция number не может прочитать 'x: y'",
            ),
            ("LookupError: No handler is registered as pay.", "LookupError: Обработчик pay не зарегистрирован."),
            ("ConnectionError: [Errno 111] refused: no route", "ConnectionError: [Errno 111] refused: no route"),
        ],
    )
    def test_says_it_in_the_language_of_the_reader(self, reason: str, russian: str) -> None:
        assert translate_reason(reason) == reason
        with override("ru"):
            assert translate_reason(reason) == russian

    def test_knows_every_reason_of_the_engine(self) -> None:
        """A reason that is built of parts is known by each of its wordings: the parts are filled with a word."""
        reasons = [text for file in FOLDER.rglob("*.py") for text in find_reasons(ast.parse(file.read_text()))]
        assert len(reasons) > 90
        with override("ru"):
            assert [reason for reason in reasons if translate_reason(reason) == reason] == []


WHERE = {"CommandRejected": 0, "CommandFailed": 1, "ExpressionFailed": 0, "EffectRefused": 0, "NotIso": 0}
WHERE |= {"FeelFailed": 0, "TableFailed": 0}
"""The place of the text among the arguments of each error that becomes a refusal or an incident."""


def find_reasons(tree: ast.Module) -> list[str]:
    """Return the texts that errors are made with; that of an expression stands behind its expression."""
    named = {
        target.id: node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant | ast.JoinedStr)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    found = []
    for call in (node for node in ast.walk(tree) if isinstance(node, ast.Call)):
        name = ast.unparse(call.func).rpartition(".")[2]
        given = [each.value for each in call.keywords[:1]] if name == "NotPossible" else call.args[WHERE.get(name, 9) :]
        text = named.get(given[0].id, given[0]) if given and isinstance(given[0], ast.Name) else (given or [None])[0]
        if isinstance(text, ast.Constant | ast.JoinedStr) and (name in WHERE or name == "NotPossible"):
            parts = text.values if isinstance(text, ast.JoinedStr) else [text]
            words = "".join(str(part.value) if isinstance(part, ast.Constant) else "case" for part in parts)
            found.append(f"a + b: {words}" if name == "ExpressionFailed" else words)
    return found
