"""Expressions of the Java engines, `${…}`: the part that only looks at variables, in our language.

Operators and paths are the same or nearly so. Of methods there are those that ask a text, a list or a map, and those
that look up a variable; any other method, bean or function is code.
"""

from collections.abc import Callable

from processes.workflows.engine.dialects.languages.phrases import (
    AND,
    COMPARE,
    OR,
    PRODUCT,
    SIGN,
    SUM,
    TERNARY,
    VALUE,
    NotTranslatable,
    Phrase,
    Reader,
    tokenize,
    unquote,
    wrap,
    write_name,
    write_text,
)


def translate_juel(text: str) -> str:
    """Return what stands between `${` and `}` in our language; raises NotTranslatable."""
    reader = Reader(tokenize(text))
    phrase = _read(reader)
    reader.expect_end()
    return phrase.text


_ENGINE = frozenset(
    {
        "execution",
        "task",
        "caseExecution",
        "caseInstance",
        "planItemInstance",
        "processInstance",
        "authenticatedUserId",
        "authenticationUserId",
        "kcontext",
        "externalTask",
    }
)
"""Objects of an engine, which are no variables."""
_LEVELS: tuple[tuple[int, dict[str, str]], ...] = (
    (OR, {"||": "or", "or": "or"}),
    (AND, {"&&": "and", "and": "and"}),
    (COMPARE, {"==": "==", "eq": "==", "!=": "!=", "ne": "!="}),
    (COMPARE, {"<": "<", "lt": "<", "<=": "<=", "le": "<=", ">": ">", "gt": ">", ">=": ">=", "ge": ">="}),
    (SUM, {"+": "+", "-": "-"}),
    (PRODUCT, {"*": "*", "/": "/", "div": "/", "%": "%", "mod": "%"}),
)


def _read(reader: Reader) -> Phrase:
    reader.enter()
    phrase = _read_level(reader, 0)
    if reader.take("?"):
        then = _read(reader)
        reader.expect(":")
        otherwise = _read(reader)
        phrase = Phrase(f"{wrap(phrase, OR)} ? {wrap(then, OR)} : {wrap(otherwise, OR)}", TERNARY)
    reader.leave()
    return phrase


def _read_level(reader: Reader, level: int) -> Phrase:
    if level == len(_LEVELS):
        return _read_signed(reader)
    power, operators = _LEVELS[level]
    phrase = _read_level(reader, level + 1)
    if reader.is_next("instanceof"):
        raise NotTranslatable("instanceof asks for a class")
    while reader.is_next(*operators):
        operator = operators[reader.advance().text]
        right = _read_level(reader, level + 1)
        # Ours compares two values at a time.
        left = wrap(phrase, power + (power == COMPARE))
        phrase = Phrase(f"{left} {operator} {wrap(right, power + 1)}", power)
    return phrase


def _read_signed(reader: Reader) -> Phrase:
    reader.enter()
    try:
        if reader.take("!", "not"):
            return Phrase(f"!{wrap(_read_signed(reader), SIGN)}", SIGN)
        if reader.take("-"):
            return Phrase(f"-{wrap(_read_signed(reader), SIGN)}", SIGN)
        if reader.take("empty"):
            value = wrap(_read_signed(reader), VALUE)
            return Phrase(_write_is_empty(value), OR)
        return _read_value(reader)
    finally:
        reader.leave()


def _write_is_empty(value: str) -> str:
    return f'{value} == null or {value} == "" or {value} == [] or {value} == {{}}'


def _read_value(reader: Reader) -> Phrase:
    phrase = _read_primary(reader)
    while True:
        if reader.take("["):
            key = _read(reader)
            reader.expect("]")
            phrase = Phrase(f"{wrap(phrase, VALUE)}[{key.text}]", VALUE)
        elif reader.take("."):
            word = reader.advance()
            if word.kind != "word":
                raise NotTranslatable("a name follows the dot")
            if reader.is_next("("):
                phrase = _call_method(phrase, word.text, _read_arguments(reader))
            else:
                phrase = Phrase(f"{wrap(phrase, VALUE)}.{write_name(word.text).text}", VALUE)
        else:
            return phrase


def _read_primary(reader: Reader) -> Phrase:
    token = reader.advance()
    if token.kind == "number":
        return Phrase(token.text, VALUE)
    if token.kind == "string":
        return write_text(unquote(token.text))
    if token.text == "(":
        phrase = _read(reader)
        reader.expect(")")
        return Phrase(f"({phrase.text})", VALUE)
    if token.text == "[":
        return Phrase(f"[{', '.join(each.text for each in _read_list(reader, ']'))}]", VALUE)
    if token.kind != "word":
        raise NotTranslatable(f"{token.text[:20]} is not expected")
    if token.text in ("true", "false", "null"):
        return Phrase(token.text, VALUE)
    if token.text in ("variables", "vars", "var") and reader.take(":"):
        return _call_variable_function(reader.advance().text, _read_arguments(reader))
    if token.text in _ENGINE:
        return _read_engine_call(reader, token.text)
    if reader.is_next("(") or _is_prefix(reader):
        raise NotTranslatable(f"{token.text} is a function of another engine")
    return write_name(token.text)


def _is_prefix(reader: Reader) -> bool:
    """Return whether a function with a prefix follows, and not the second way of a choice."""
    following = reader.tokens[reader.at : reader.at + 3]
    return len(following) == 3 and following[0].text == ":" and following[2].text == "("


def _read_engine_call(reader: Reader, name: str) -> Phrase:
    """Read `execution.getVariable("x")`, which is the variable x; nothing else of an engine is known here."""
    if not reader.take("."):
        raise NotTranslatable(f"{name} is an object of another engine")
    method = reader.advance().text
    arguments = _read_arguments(reader) if reader.is_next("(") else []
    known = _name_of(arguments[0]) if arguments else ""
    if known and method in ("getVariable", "getVariableLocal"):
        return write_name(known)
    if known and method in ("hasVariable", "hasVariableLocal"):
        return Phrase(f"{known} != null", COMPARE)
    raise NotTranslatable(f"{name}.{method} is code of another engine")


def _name_of(argument: Phrase) -> str:
    """Return the variable that an argument names, as a text or as itself; empty when it names none."""
    text = argument.text
    name = text[1:-1] if text.startswith('"') else text
    return name if name.isidentifier() else ""


def _read_arguments(reader: Reader) -> list[Phrase]:
    reader.expect("(")
    return _read_list(reader, ")")


def _read_list(reader: Reader, closing: str) -> list[Phrase]:
    found: list[Phrase] = []
    while not reader.take(closing):
        if found:
            reader.expect(",")
        found.append(_read(reader))
    return found


_Method = Callable[..., Phrase]
_METHODS: dict[tuple[str, int], _Method] = {
    ("equals", 1): lambda x, a: Phrase(f"{wrap(x, SUM)} == {wrap(a, SUM)}", COMPARE),
    ("equalsIgnoreCase", 1): lambda x, a: Phrase(f"lower({x.text}) == lower({a.text})", COMPARE),
    ("size", 0): lambda x: Phrase(f"len({x.text})", VALUE),
    ("length", 0): lambda x: Phrase(f"len({x.text})", VALUE),
    ("isEmpty", 0): lambda x: Phrase(f"len({x.text}) == 0", COMPARE),
    ("contains", 1): lambda x, a: Phrase(f"contains({x.text}, {a.text})", VALUE),
    ("containsKey", 1): lambda x, a: Phrase(f"contains({x.text}, {a.text})", VALUE),
    ("startsWith", 1): lambda x, a: Phrase(f"starts_with({x.text}, {a.text})", VALUE),
    ("endsWith", 1): lambda x, a: Phrase(f"ends_with({x.text}, {a.text})", VALUE),
    ("toLowerCase", 0): lambda x: Phrase(f"lower({x.text})", VALUE),
    ("toUpperCase", 0): lambda x: Phrase(f"upper({x.text})", VALUE),
    ("trim", 0): lambda x: Phrase(f"trim({x.text})", VALUE),
    ("get", 1): lambda x, a: Phrase(f"{wrap(x, VALUE)}[{a.text}]", VALUE),
    ("prop", 1): lambda x, a: Phrase(f"{wrap(x, VALUE)}[{a.text}]", VALUE),
    ("toString", 0): lambda x: Phrase(f"string({x.text})", VALUE),
    ("intValue", 0): lambda x: Phrase(f"int({x.text})", VALUE),
    **{
        (name, 0): lambda x: x
        for name in ("value", "stringValue", "numberValue", "boolValue", "booleanValue", "longValue", "doubleValue")
    },
}


def _call_method(base: Phrase, name: str, arguments: list[Phrase]) -> Phrase:
    method = _METHODS.get((name, len(arguments)))
    if method is None:
        raise NotTranslatable(f"{name}(…) is a method")
    return method(base, *arguments)


_COMPARISONS = {
    **dict.fromkeys(("equals", "eq"), "=="),
    **dict.fromkeys(("notEquals", "ne"), "!="),
    **dict.fromkeys(("lowerThan", "lessThan", "lt"), "<"),
    **dict.fromkeys(("lowerThanOrEquals", "lessThanOrEquals", "lte"), "<="),
    **dict.fromkeys(("greaterThan", "gt"), ">"),
    **dict.fromkeys(("greaterThanOrEquals", "gte"), ">="),
}


def _call_variable_function(name: str, arguments: list[Phrase]) -> Phrase:
    """Write a function of Flowable that looks at a variable, such as `vars:eq(x, 1)`."""
    variable = _name_of(arguments[0]) if arguments else ""
    if not variable:
        raise NotTranslatable(f"variables:{name}(…) names no variable")
    if name in _COMPARISONS and len(arguments) == 2:
        return Phrase(f"{variable} {_COMPARISONS[name]} {wrap(arguments[1], SUM)}", COMPARE)
    if name == "get" and len(arguments) == 1:
        return write_name(variable)
    if name == "getOrDefault" and len(arguments) == 2:
        return Phrase(f"coalesce({variable}, {arguments[1].text})", VALUE)
    if name in ("exists", "exist"):
        return Phrase(f"{variable} != null", COMPARE)
    if name in ("isEmpty", "empty"):
        return Phrase(_write_is_empty(variable), OR)
    if name in ("isNotEmpty", "notEmpty"):
        return Phrase(f"!({_write_is_empty(variable)})", SIGN)
    raise NotTranslatable(f"variables:{name}(…) is a function of another engine")
