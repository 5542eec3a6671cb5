"""Cases that want to take all memory and time."""

from collections.abc import Callable

from tests.processes.workflows.engine.bpmn.hostile_files import number, repeat
from tests.processes.workflows.engine.cmmn.source_files import wrap

ON_A = "<planItemOnPart sourceRef='A'><standardEvent>exit</standardEvent></planItemOnPart>"
BY = ON_A.replace("sourceRef", "exitCriterionRef='x' sourceRef")
IF = "<sentry id='s'><ifPart><condition>x</condition></ifPart></sentry>"
ITEM = "<planItem id='i%d' definitionRef='X'/>"
USE = "<entryCriterion sentryRef='s'/>"


def items(count: int, attributes: str = "", inside: str = "", *, of: str = "X") -> str:
    """Plan items that all have the same definition."""
    written = f"{attributes}>{inside}</planItem>"
    return "".join(f"<planItem id='i{key}' definitionRef='{of}' {written}" for key in range(count))


def chain(stages: int) -> str:
    """Stages that lie in each other by reference alone."""
    inside = "<stage id='d%d'><planItem id='p%d' definitionRef='d%d'/></stage>"
    return "<planItem id='p' definitionRef='d0'/>" + "".join(inside % (at, at, at + 1) for at in range(stages))


FILES: dict[str, Callable[[], bytes]] = {
    "many plan items": lambda: wrap("<humanTask id='X'/>" + number(ITEM)),
    "many plan items of nothing": lambda: wrap(number(ITEM)),
    "many definitions": lambda: wrap(number("<humanTask id='t%d'/>") + "<x/>"),
    "many sentries": lambda: wrap(number("<sentry id='s%d'/>") + "<x/>"),
    "many of the same id": lambda: wrap(repeat("<sentry id='s'/>", until=400_000)),
    "many discretionary items": lambda: wrap(
        "<planningTable>" + number("<discretionaryItem id='d%d'/>") + "</planningTable>"
    ),
    "many cases": lambda: wrap("", roots=number("<case id='c%d'/>")),
    "deep stages": lambda: wrap(repeat("<stage id='a'>", until=100_000)),
    "deep stages within the limit": lambda: wrap(
        "".join(f"<planItem id='i{at}' definitionRef='s{at}'/><stage id='s{at}'>" for at in range(90)) + "</stage>" * 90
    ),
    "chain of stages": lambda: wrap(chain(1_999)),
    "stages in themselves": lambda: wrap(
        "<planItem id='p' definitionRef='X'/><stage id='X'>" + items(1_900) + "</stage>"
    ),
    "many criteria": lambda: wrap(IF + "<humanTask id='X'/>" + items(1, inside=repeat(USE, until=900_000))),
    "references in attributes": lambda: wrap(
        IF + "<humanTask id='X'/>" + items(1, f"entryCriteriaRefs='{repeat('s ', until=900_000)}'")
    ),
    "references of many items": lambda: wrap(
        IF + "<humanTask id='X'/>" + items(1_900, f"exitCriteriaRefs='{repeat('s ', until=400)}'")
    ),
    "references to nothing": lambda: wrap(
        "<humanTask id='X'/>" + items(1, f"exitCriteriaRefs='{repeat('n ', until=900_000)}'")
    ),
    "one long reference": lambda: wrap("<humanTask id='X'/>" + items(1, f"exitCriteriaRefs='{repeat('n')}'")),
    "many on-parts": lambda: wrap(
        f"<humanTask id='X'/><sentry id='s'>{repeat(ON_A, until=900_000)}</sentry>" + items(1, inside=USE)
    ),
    "on-parts of many criteria": lambda: wrap(
        f"<humanTask id='X'/><sentry id='s'>{ON_A * 100}</sentry>" + items(1_900, inside=USE)
    ),
    "exits of many criteria": lambda: wrap(
        f"<humanTask id='X'/>{IF}<sentry id='t'>{BY * 100}</sentry>"
        + items(1, inside=USE.replace("entry", "exit") * 3_900)
        + f"<planItem id='y' definitionRef='X' exitCriteriaRefs='{'t ' * 39}'/>"
    ),
    "form of many items": lambda: wrap(
        f"<humanTask id='X' postern:form='{repeat('a,', until=700_000)}'/>" + items(1_900)
    ),
    "forms of many items": lambda: wrap(
        f"<humanTask id='X'/>{items(1_900, chr(32) + 'postern:form=' + repr('a,' * 150))}"
    ),
    "name of many items": lambda: wrap(f"<humanTask id='X' name='{repeat('x ', until=700_000)}'/>" + items(1_900)),
    "timer of many items": lambda: wrap(
        f"<timerEventListener id='X'><timerExpression>P{repeat('1', until=700_000)}</timerExpression>"
        "</timerEventListener>" + items(1_900)
    ),
    "condition of many items": lambda: wrap(
        f"<humanTask id='X'><defaultControl><requiredRule><condition>{'a+' * 245}a</condition></requiredRule>"
        "</defaultControl></humanTask>" + items(1_900) + "<x/>"
    ),
    "conditions of many items": lambda: wrap(
        "<humanTask id='X'/>"
        + items(
            1_500,
            inside=f"<itemControl><requiredRule><condition>{'a+' * 245}a</condition></requiredRule></itemControl>",
        )
    ),
    "long condition": lambda: wrap(
        f"<humanTask id='X'/>{IF.replace('>x<', '>' + repeat('1+') + '1<')}" + items(1, inside=USE)
    ),
    "many case file items": lambda: wrap(
        "", case="<caseFileModel>" + number("<caseFileItem id='f%d'/>") + "</caseFileModel>"
    ),
    "deep case file": lambda: wrap(
        "", case="<caseFileModel>" + repeat("<caseFileItem id='f'><children>", until=90_000)
    ),
    "many processes": lambda: wrap("<x/>", roots=number("<process id='p%d'/>")),
    "many shared definitions": lambda: wrap(
        "<planItem id='p' definitionRef='S'/><stage id='S'>"
        + number("<humanTask id='t%d'/>", until=300_000)
        + "</stage>"
        + "".join(f"<planItem id='i{at}' definitionRef='t{at}'/>" for at in range(1_900))
    ),
    "many triggers": lambda: wrap(
        "<timerEventListener id='X'><timerExpression>PT1H</timerExpression>"
        + repeat("<planItemStartTrigger sourceRef='A'/>", until=900_000)
        + "</timerEventListener>"
        + items(100)
    ),
}
HARMLESS = frozenset(
    {
        "many of the same id",
        "name of many items",
        "many plan items of nothing",
        "many definitions",
        "many sentries",
        "many discretionary items",
        "many cases",
        "stages in themselves",
        "exits of many criteria",
        "condition of many items",
        "many processes",
        "many shared definitions",
    }
)
"""Read, because what is too much in them is dropped or cut; as fast as the others."""
