"""Plays the scripts of the corpus with SpiffWorkflow, an engine written by others."""

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any

import time_machine
from SpiffWorkflow.bpmn import BpmnEvent, BpmnWorkflow
from SpiffWorkflow.bpmn.parser import BpmnParser
from SpiffWorkflow.bpmn.script_engine import PythonScriptEngine, TaskDataEnvironment
from SpiffWorkflow.bpmn.specs.event_definitions import (
    ErrorEventDefinition,
    MessageEventDefinition,
    SignalEventDefinition,
)
from SpiffWorkflow.bpmn.specs.mixins import NoneTaskMixin
from SpiffWorkflow.bpmn.specs.mixins.multiinstance_task import LoopTask
from SpiffWorkflow.util.task import TaskState

from tests.processes.workflows.corpus.script import Command
from tests.processes.workflows.corpus.spiff_files import read_for_spiff


class Oracle:
    """One instance of a process of the corpus, run by SpiffWorkflow."""

    def __init__(self, key: str, start: str) -> None:
        parser = BpmnParser()
        for root in read_for_spiff(key, start):
            parser.add_bpmn_xml(root)
        specs = parser.get_subprocess_specs(key)
        self._workflow = BpmnWorkflow(parser.get_spec(key), specs, script_engine=PythonScriptEngine(Environment()))
        self._completed: list[str] = []
        self._ticks = 0
        self._listen(key, specs)

    def play(self, command: Command, at: datetime) -> list[str]:
        """Carry out a command at a moment; give the elements that were completed, in order."""
        self._completed.clear()
        # A timer of SpiffWorkflow fires after its moment, not at it: each command comes a little later than it should.
        self._ticks += 1
        with time_machine.travel(at + timedelta(milliseconds=self._ticks), tick=False):
            _COMMANDS[command.name](self, command)
            self._settle()
        return list(self._completed)

    def open_tasks(self) -> list[str]:
        tasks = self._workflow.get_tasks(state=TaskState.READY, manual=True)
        return sorted(_element(task.task_spec) for task in tasks)

    def is_completed(self) -> bool:
        return bool(self._workflow.is_completed())

    def variables(self) -> dict[str, Any]:
        return dict(self._workflow.data)

    def _listen(self, key: str, specs: dict[str, Any]) -> None:
        """Hear of every element that is completed; a loop is heard of by its rounds."""
        for spec in (self._workflow.spec, *specs.values()):
            for task_spec in spec.task_specs.values():
                if getattr(task_spec, "bpmn_id", None) and not isinstance(task_spec, LoopTask):
                    task_spec.completed_event.connect(self._hear)

    def _hear(self, workflow: object, task: Any) -> None:
        self._completed.append(_element(task.task_spec))

    def _settle(self) -> None:
        """Go on until everything waits; a task of no kind is one that SpiffWorkflow waits at."""
        self._workflow.do_engine_steps()
        while passing := list(self._passing()):
            passing[0].run()
            self._workflow.do_engine_steps()

    def _passing(self) -> Iterator[Any]:
        ready = self._workflow.get_tasks(state=TaskState.READY, manual=True)
        return (task for task in ready if isinstance(task.task_spec, NoneTaskMixin))

    def _start(self, command: Command) -> None:
        self._workflow.get_next_task(spec_name="Start").set_data(**dict(command.variables))
        if command.mark:
            self._settle()
            definition = self._workflow.get_next_task(spec_name=command.mark).task_spec.event_definition
            self._catch(definition, command)

    def _complete(self, command: Command) -> None:
        task = self._find(command.target, int(command.mark or 1))
        task.set_data(**dict(command.variables))
        task.run()

    def _fail(self, command: Command) -> None:
        code = dict(command.variables)["code"]
        event = BpmnEvent(ErrorEventDefinition(code, code), payload={}, target=self._find(command.target, 1).workflow)
        self._workflow.catch(event)

    def _message(self, command: Command) -> None:
        self._catch(MessageEventDefinition(command.target), command)

    def _signal(self, command: Command) -> None:
        self._catch(SignalEventDefinition(command.target), command)

    def _catch(self, definition: object, command: Command) -> None:
        self._workflow.catch(BpmnEvent(definition, payload=dict(command.variables)))

    def _timer(self, command: Command) -> None:
        self._workflow.refresh_timers()

    def _terminate(self, command: Command) -> None:
        self._workflow.cancel()

    def _find(self, element: str, place: int) -> Any:
        ready = self._workflow.get_tasks(state=TaskState.READY, manual=True)
        return [task for task in ready if _element(task.task_spec) == element][place - 1]


_COMMANDS = {
    "start": Oracle._start,
    "complete": Oracle._complete,
    "fail": Oracle._fail,
    "message": Oracle._message,
    "signal": Oracle._signal,
    "timer": Oracle._timer,
    "terminate": Oracle._terminate,
}


class Environment(TaskDataEnvironment):  # type: ignore[misc]
    """Python, with the words of Postern's expressions; a variable that is not there is null."""

    def evaluate(self, expression: str, context: dict[str, Any], external_context: object = None) -> Any:
        return eval(expression, {"__builtins__": {}}, PythonNames(context))

    def execute(self, script: str, context: dict[str, Any], external_context: object = None) -> bool:
        for line in script.splitlines():
            name, _, expression = line.partition("=")
            context[name.strip()] = self.evaluate(expression.strip(), context)
        return True


class PythonNames(dict[str, Any]):
    def __missing__(self, name: str) -> Any:
        return WORDS.get(name)


WORDS: dict[str, Any] = {
    "true": True,
    "false": False,
    "len": len,
    "upper": str.upper,
    "coalesce": lambda *values: next((value for value in values if value is not None), None),
}


def _element(task_spec: Any) -> str:
    name: str = task_spec.name
    return name.removesuffix(" [child]")
