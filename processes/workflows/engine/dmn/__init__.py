"""Parse DMN 1.3 files into decisions, and evaluate them.

- Each decision of a file that has logic is a definition of its own, under its id; the file is the same for all of them.
  Files of DMN 1.1 to 1.6 are read alike.
- Logic is a decision table, a literal expression, a context, a list, a relation or an invocation; business knowledge
  models are functions. Expressions are FEEL (`engine.feel`); those of another language are refused.
- A decision finds the results of those it requires under the names of their variables, else under their names; and the
  outputs of a required table under their own names too, as some tools write it.
- A table in which the hit policy does not allow what has matched fails; without a match the result is that of the
  default entries, else null, or an empty list where several rules may match.
- Imports, decision services, and what is only drawn, are not evaluated.
"""
