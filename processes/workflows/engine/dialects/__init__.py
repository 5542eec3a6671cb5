"""Files as other tools write them, translated into what `bpmn` and `cmmn` run; nothing is dropped without a line.

`process_files` and `cases.files` are the ways in: they take the elements of a file and return those of a plain one, and
note in a `report` what was translated, how, and what is only drawn. `vendors` knows the namespaces, `languages`
the expressions; the other modules translate one part of a file each.

- What another engine would run as code (a class, a bean, a script, a method in an expression) is external work under a
  topic, or a message to wait for: nothing of it runs here.
- An element that has no id gets one from what it connects, its name or its place, the same in every revision.
- What is added to a file has an id with `~` in it, which no id in a file can have.
"""
