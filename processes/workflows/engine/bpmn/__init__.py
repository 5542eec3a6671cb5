"""Parse BPMN 2.0 files into definitions, and report what keeps a file from running.

`parser` is the way in. `xml` parses any uploaded file within bounds; `outline` finds what lies where; `nodes`,
`events`, `timers`, `loops`, `retries`, `extensions`, `assignments`, `forms` and `compensation` read one part each;
`validation` checks what the parts say about each other. Problems are gathered: an author sees all of them at once.

- What other tools write is translated before, by `dialects`: here a file has one process to run, and every id.
- Drawings, data objects and annotations are ignored. A service or send task without a handler is `external`, and its
  topic is its id; a send task with a message throws it.
- Extensions of the namespace `https://postern.dev/bpmn/1.0` are attributes, or elements within `extensionElements`:
  `handler`, `topic`, `retry` and `input` (service and send tasks; inputs of thrown events, too), `correlation` and
  `condition` (message and signal events, receive tasks), `codeVariable` and `messageVariable` (events that catch
  errors), `assign` (script tasks), `form` (user tasks).
- Timers are literals of ISO 8601 or expressions that give one. Conditions are expressions, in whichever wrapper.
- The condition of a default flow is dropped: it is never evaluated.
"""
