"""Parse CMMN 1.1 files into definitions, and report what keeps a file from running.

`parser` is the way in. `outline` finds what lies where; `item_definitions`, `plan_items` and `sentries` read the parts;
`validation` checks what the parts say about each other. Problems are gathered: an author sees all of them at once.

- What other tools write is translated before, by `dialects`: here a file has one case. Its plan items are the nodes of
  the definition, found by the ids of the plan items.
- Drawings, annotations, roles and parameters are ignored. Of the namespace `https://postern.dev/bpmn/1.0` there are
  `form`, on a human task or on its plan item, whose own one wins; `handler` and `topic` of a task that a worker does;
  `input` and `output` of process and case tasks; `neutral` of an item that its stage does not wait for.
- A plan item's rule is its own (`itemControl`), else that of its definition element (`defaultControl`).
- Conditions are expressions over the variables, in `condition` or in a `body` within it; `contextRef` says no more.
- A criterion without an id has that of its sentry. Criteria are elements, or references in the attributes
  `entryCriteriaRefs` and `exitCriteriaRefs`. A stage's exit criteria may also stand in its definition element.
- A timer's expression is a literal of ISO 8601 (`P…` a duration, `R…` a cycle, else a time), or an expression, which
  gives a duration or a number of seconds.
- A process task runs what its `process` element names by `externalRef`, else by its name; without such an element, the
  definition of that key. A case file item is the variable of its name, a child the part of that name.
"""
