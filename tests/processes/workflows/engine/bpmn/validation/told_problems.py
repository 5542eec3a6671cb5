"""What is told of the body of a process that cannot run; its first line is 4."""

from tests.processes.workflows.engine.bpmn.source_files import find_problems, wrap

MESSAGE = '<message id="m" name="asked" /><signal id="g" name="rung" /><error id="e" errorCode="bad" />'
TIMER = "<timerEventDefinition><timeDuration>PT1H</timeDuration></timerEventDefinition>"


def told(body: str, roots: str = MESSAGE) -> list[tuple[str, int, str]]:
    return [(problem.element, problem.line, problem.message) for problem in find_problems(wrap(body, roots))]
