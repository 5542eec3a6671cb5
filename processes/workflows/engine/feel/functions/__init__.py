"""The functions of FEEL. Those with regular expressions (`matches`, `replace`) are absent: their time has no bound."""

from processes.workflows.engine.feel.functions import contexts, lists, numbers, strings, times
from processes.workflows.engine.feel.functions.registry import FUNCTIONS, Function

__all__ = ["FUNCTIONS", "Function", "contexts", "lists", "numbers", "strings", "times"]
