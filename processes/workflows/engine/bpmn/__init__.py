"""Parse BPMN 2.0 files into definitions, and report what keeps a file from running.

`parser` is the way in. `xml` parses any uploaded file within bounds; `outline` finds what lies where; `nodes`,
`events`, `timers`, `loops`, `extensions`, `assignments`, `forms` and `compensation` read one part each; `validation`
checks what the parts say about each other. Problems are gathered: an author sees all of them at once.

- One process of a file is run: the one that is executable, else the only one with anything in it.
- Extensions of other tools, drawings, lanes, data objects and annotations are ignored. So a service or send task whose
  handler only another tool knows is `external`, and its topic is its id; a send task with a message throws it.
- Extensions of the namespace `https://postern.dev/bpmn/1.0` are attributes, or elements within `extensionElements`:
  `handler`, `topic` and `input` (service and send tasks; inputs of thrown events, too), `correlation` and `condition`
  (message and signal events, receive tasks), `assign` (script tasks), `form` (user tasks).
- Timers are literals of ISO 8601 or expressions that give one. Conditions are expressions, in whichever wrapper.
- The condition of a default flow is dropped: it is never evaluated.
"""
