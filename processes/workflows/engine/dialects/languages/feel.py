"""Expressions in FEEL, `=…`: comparisons, logic, arithmetic, paths, lists, contexts, common functions, in ours."""

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


def translate_feel(text: str) -> str:
    """Return a FEEL expression, without the `=` before it, in our language; raises NotTranslatable."""
    reader = Reader(tokenize(text))
    phrase = _read(reader)
    reader.expect_end()
    return phrase.text


def _read(reader: Reader) -> Phrase:
    reader.enter()
    if reader.take("if"):
        condition = _read(reader)
        reader.expect("then")
        then = _read(reader)
        reader.expect("else")
        otherwise = _read(reader)
        phrase = Phrase(f"{wrap(condition, OR)} ? {wrap(then, OR)} : {wrap(otherwise, OR)}", TERNARY)
    else:
        phrase = _read_or(reader)
    reader.leave()
    return phrase


def _read_or(reader: Reader) -> Phrase:
    phrase = _read_and(reader)
    while reader.take("or"):
        phrase = Phrase(f"{wrap(phrase, OR)} or {wrap(_read_and(reader), AND)}", OR)
    return phrase


def _read_and(reader: Reader) -> Phrase:
    phrase = _read_comparison(reader)
    while reader.take("and"):
        phrase = Phrase(f"{wrap(phrase, AND)} and {wrap(_read_comparison(reader), AND + 1)}", AND)
    return phrase


_COMPARISONS = {"=": "==", "!=": "!=", "<": "<", "<=": "<=", ">": ">", ">=": ">="}


def _read_comparison(reader: Reader) -> Phrase:
    left = _read_sum(reader)
    if reader.is_next(*_COMPARISONS):
        operator = _COMPARISONS[reader.advance().text]
        return Phrase(f"{wrap(left, SUM)} {operator} {wrap(_read_sum(reader), SUM)}", COMPARE)
    if reader.take("between"):
        least = _read_sum(reader)
        reader.expect("and")
        return _write_range(left, least, _read_sum(reader))
    if reader.take("in"):
        return _read_in(reader, left)
    return left


def _read_in(reader: Reader, left: Phrase) -> Phrase:
    """Read what a value lies in: a range, a list, or a test such as `> 5`."""
    if reader.is_next("<", "<=", ">", ">="):
        operator = reader.advance().text
        return Phrase(f"{wrap(left, SUM)} {operator} {wrap(_read_sum(reader), SUM)}", COMPARE)
    if reader.is_next("[", "("):
        opening = reader.advance().text
        first = _read(reader)
        if reader.take(".."):
            last = _read(reader)
            closing = reader.take("]", ")", "[")
            return _write_range(left, first, last, opening == "[", closing == "]")
        items = [first]
        while reader.take(","):
            items.append(_read(reader))
        reader.expect("]" if opening == "[" else ")")
        return Phrase(f"{wrap(left, SUM)} in [{', '.join(item.text for item in items)}]", COMPARE)
    return Phrase(f"{wrap(left, SUM)} in {wrap(_read_sum(reader), SUM)}", COMPARE)


def _write_range(value: Phrase, least: Phrase, most: Phrase, has_least: bool = True, has_most: bool = True) -> Phrase:
    text = wrap(value, SUM)
    below = f"{text} {'>=' if has_least else '>'} {wrap(least, SUM)}"
    return Phrase(f"{below} and {text} {'<=' if has_most else '<'} {wrap(most, SUM)}", AND)


def _read_sum(reader: Reader) -> Phrase:
    phrase = _read_product(reader)
    while operator := reader.take("+", "-"):
        phrase = Phrase(f"{wrap(phrase, SUM)} {operator} {wrap(_read_product(reader), PRODUCT)}", SUM)
    return phrase


def _read_product(reader: Reader) -> Phrase:
    phrase = _read_signed(reader)
    while operator := reader.take("*", "/"):
        phrase = Phrase(f"{wrap(phrase, PRODUCT)} {operator} {wrap(_read_signed(reader), SIGN)}", PRODUCT)
    return phrase


def _read_signed(reader: Reader) -> Phrase:
    if not reader.take("-"):
        return _read_value(reader)
    reader.enter()
    phrase = Phrase(f"-{wrap(_read_signed(reader), SIGN)}", SIGN)
    reader.leave()
    return phrase


def _read_value(reader: Reader) -> Phrase:
    phrase = _read_primary(reader)
    while True:
        if reader.take("."):
            phrase = Phrase(f"{wrap(phrase, VALUE)}.{write_name(reader.advance().text).text}", VALUE)
        elif reader.take("["):
            phrase = Phrase(f"{wrap(phrase, VALUE)}[{_read_index(reader)}]", VALUE)
        else:
            return phrase


def _read_index(reader: Reader) -> str:
    """Read a place in a list, which FEEL counts from 1 and from the end by -1; anything else would be a filter."""
    sign = reader.take("-")
    token = reader.advance()
    if token.kind != "number" or not token.text.isdigit() or token.text == "0" or not reader.take("]"):
        raise NotTranslatable("a filter of a list has no counterpart")
    return f"-{token.text}" if sign else str(int(token.text) - 1)


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
    if token.text == "{":
        return _read_context(reader)
    if token.kind != "word" or token.text in ("for", "some", "every", "function", "return", "satisfies", "then"):
        raise NotTranslatable(f"{token.text[:20]} has no counterpart")
    return _read_word(reader, token.text)


def _read_word(reader: Reader, word: str) -> Phrase:
    if word in ("true", "false", "null"):
        return Phrase(word, VALUE)
    # Names of functions have several words: as many as follow one another before the bracket.
    words = [word]
    while reader.next.kind == "word" and reader.next.text not in _RESERVED:
        words.append(reader.advance().text)
    if reader.take("("):
        return _call(" ".join(words), _read_list(reader, ")"))
    if len(words) > 1:
        raise NotTranslatable(f"{' '.join(words)[:40]} is a name of several words")
    return write_name(word)


_RESERVED = frozenset({"and", "or", "then", "else", "between", "in", "if", "instance", "satisfies", "return"})


def _read_list(reader: Reader, closing: str) -> list[Phrase]:
    found: list[Phrase] = []
    while not reader.take(closing):
        if found:
            reader.expect(",")
        found.append(_read(reader))
    return found


def _read_context(reader: Reader) -> Phrase:
    entries: list[str] = []
    while not reader.take("}"):
        if entries:
            reader.expect(",")
        key = reader.advance()
        reader.expect(":")
        name = unquote(key.text) if key.kind == "string" else key.text
        entries.append(f"{write_text(name).text}: {_read(reader).text}")
    return Phrase("{" + ", ".join(entries) + "}", VALUE)


def _same(name: str) -> Callable[..., Phrase]:
    return lambda *arguments: Phrase(f"{name}({', '.join(each.text for each in arguments)})", VALUE)


_FUNCTIONS: dict[tuple[str, int], Callable[..., Phrase]] = {
    ("not", 1): lambda x: Phrase(f"!{wrap(x, SIGN)}", SIGN),
    ("count", 1): _same("len"),
    ("string length", 1): _same("len"),
    ("upper case", 1): _same("upper"),
    ("lower case", 1): _same("lower"),
    ("trim", 1): _same("trim"),
    ("contains", 2): _same("contains"),
    ("starts with", 2): _same("starts_with"),
    ("ends with", 2): _same("ends_with"),
    ("list contains", 2): _same("contains"),
    ("sum", 1): _same("sum"),
    ("min", 1): _same("min"),
    ("max", 1): _same("max"),
    ("min", 2): _same("min"),
    ("max", 2): _same("max"),
    ("abs", 1): _same("abs"),
    ("string", 1): _same("string"),
    ("number", 1): _same("number"),
    ("duration", 1): _same("duration"),
    ("get value", 2): lambda x, key: Phrase(f"{wrap(x, VALUE)}[{key.text}]", VALUE),
    ("is defined", 1): lambda x: Phrase(f"{wrap(x, SUM)} != null", COMPARE),
    ("is empty", 1): lambda x: Phrase(f"len({x.text}) == 0", COMPARE),
    ("modulo", 2): lambda x, y: Phrase(f"{wrap(x, PRODUCT)} % {wrap(y, SIGN)}", PRODUCT),
    ("append", 2): lambda x, y: Phrase(f"{wrap(x, SUM)} + [{y.text}]", SUM),
    ("concatenate", 2): lambda x, y: Phrase(f"{wrap(x, SUM)} + {wrap(y, PRODUCT)}", SUM),
}


def _call(name: str, arguments: list[Phrase]) -> Phrase:
    function = _FUNCTIONS.get((name, len(arguments)))
    if function is None:
        raise NotTranslatable(f"the function {name[:40]} has no counterpart")
    return function(*arguments)
