"use strict";

// Draws a process with bpmn-js. What is drawn is saved a second after the hand rests, over the version that this page
// knows: the answer names the next version and what would keep the drawing from running, which is marked where it is.
(async () => {
  const page = document.querySelector("[data-modeler]");
  const words = page.dataset;
  const find = (name) => page.querySelector(`[data-${name}]`);
  const [canvas, state, problems, handler] = ["canvas", "state", "problems", "handler"].map(find);
  const REST = 1000;
  const LONGEST_PAUSE = 30000;

  // What this product adds to BPMN, for the library to read and write. Its attributes keep their names unannounced: the
  // library takes no second attribute of a name, and another vendor has a topic as well.
  const POSTERN = {
    name: "Postern",
    prefix: "postern",
    uri: "https://postern.dev/bpmn/1.0",
    xml: { tagAlias: "lowerCase" },
    types: [
      { name: "Input", superClass: ["Element"], properties: ["name", "expression"].map((name) => ({ name, isAttr: true, type: "String" })) },
    ],
  };

  // Of the panel's groups those that say something here; the rest would be drawn and not run.
  const SILENT = new Set(["HistoryCleanup", "Tasklist", "CandidateStarter", "JobExecution", "ExternalTask", "StartInitiator", "ExecutionListener",
    "TaskListener", "ConnectorInput", "ConnectorOutput", "FieldInjection", "ExtensionProperties"].map((name) => `CamundaPlatform__${name}`));

  const panel = window.BpmnJSPropertiesPanel;
  const modeler = new window.BpmnJS({
    container: canvas,
    propertiesPanel: { parent: find("properties") },
    additionalModules: [panel.BpmnPropertiesPanelModule, panel.BpmnPropertiesProviderModule, panel.CamundaPlatformPropertiesProviderModule],
    moddleExtensions: { camunda: await (await fetch(words.camunda)).json(), postern: POSTERN },
  });

  const last = 100; // asked after those that give the groups
  modeler.get("propertiesPanel").registerProvider(last, { getGroups: () => (groups) => groups.filter(({ id }) => !SILENT.has(id)) });

  let version = Number(words.version);
  let pause = REST;
  let timer = 0;
  let isSaving = false;
  let isChanged = false;

  const say = (text, isBad = false) => {
    state.textContent = text;
    state.classList.toggle("pst-bad", isBad);
  };

  const offer = () => page.querySelectorAll("[data-needs-draft]").forEach((link) => { link.hidden = version === 0 || isChanged; });

  const show = (found) => {
    const overlays = modeler.get("overlays");
    const elements = modeler.get("elementRegistry");
    overlays.remove({ type: "problem" });
    problems.replaceChildren();
    if (!found.length) {
      problems.textContent = words.fine;
      return;
    }
    const list = document.createElement("ul");
    for (const { element, message } of found) {
      const shape = elements.get(element);
      const name = shape?.businessObject?.name || element;
      const line = document.createElement("li");
      if (shape) {
        const button = document.createElement("button");
        button.type = "button";
        button.className = "pst-link";
        button.textContent = name;
        button.addEventListener("click", () => {
          modeler.get("selection").select(shape);
          modeler.get("canvas").scrollToElement(shape);
        });
        line.append(button, " ");
        const mark = document.createElement("span");
        mark.className = "pst-problem";
        mark.textContent = "!";
        mark.title = message;
        if (shape.parent) overlays.add(element, "problem", { position: { top: -10, right: 10 }, html: mark });
      } else if (element) {
        line.append(`${element} `);
      }
      line.append(message);
      list.append(line);
    }
    problems.append(list);
  };

  const save = async () => {
    if (isSaving) return;
    isSaving = true;
    isChanged = false;
    say(words.saving);
    try {
      const { xml } = await modeler.saveXML({ format: true });
      const body = { draft: words.draft, version, source: xml, definition: words.definition, revision: Number(words.revision) };
      const headers = { "Content-Type": "application/json", "X-CSRFToken": page.querySelector("[name=csrfmiddlewaretoken]").value };
      const answer = await fetch(words.save, { method: "POST", body: JSON.stringify(body), headers });
      if (answer.status >= 500) throw new Error(answer.statusText);
      const told = await answer.json();
      pause = REST;
      if (!answer.ok) {
        say(told.error, true);
        isChanged = true; // whoever reads this decides: what is drawn here stays until the page is left
        return;
      }
      version = told.version;
      history.replaceState(null, "", told.page);
      say(words.saved);
      show(told.problems);
    } catch {
      isChanged = true;
      pause = Math.min(pause * 2, LONGEST_PAUSE);
      timer = setTimeout(save, pause);
      say(words.failed, true);
    } finally {
      isSaving = false;
      offer();
      if (isChanged && pause === REST && !state.classList.contains("pst-bad")) touch();
    }
  };

  const touch = () => {
    isChanged = true;
    offer();
    say(words.unsaved);
    clearTimeout(timer);
    timer = setTimeout(save, pause);
  };

  // Service and send tasks: who does the work, and with what.
  const read = (element) => (element.businessObject.extensionElements?.values || []).filter((each) => each.$type === "postern:Input");
  let shown = null;

  const showHandler = (element) => {
    const isWork = element && ["bpmn:ServiceTask", "bpmn:SendTask"].includes(element.type);
    handler.hidden = !isWork;
    shown = isWork ? element : null;
    if (!isWork) return;
    handler.elements.handler.value = element.businessObject.$attrs["postern:handler"] || "";
    handler.elements.topic.value = element.businessObject.$attrs["postern:topic"] || "";
    handler.elements.inputs.value = read(element).map(({ name, expression }) => `${name} = ${expression}`).join("\n");
  };

  const change = () => {
    const { handler: chosen, topic, inputs } = handler.elements;
    const moddle = modeler.get("moddle");
    const task = shown.businessObject;
    const others = (task.extensionElements?.values || []).filter((each) => each.$type !== "postern:Input");
    const given = inputs.value.split("\n").map((line) => line.split(/=(.*)/s)).filter(([name]) => name.trim());
    const values = [...others, ...given.map(([name, expression = ""]) => moddle.create("postern:Input", { name: name.trim(), expression: expression.trim() }))];
    const extensionElements = values.length ? moddle.create("bpmn:ExtensionElements", { values }) : undefined;
    values.forEach((each) => { each.$parent = extensionElements; });
    modeler.get("modeling").updateProperties(shown, {
      "postern:handler": chosen.value || undefined,
      "postern:topic": topic.value.trim() || undefined,
      extensionElements,
    });
  };

  const source = JSON.parse(document.getElementById("drawing-source").textContent);
  try {
    await modeler.importXML(source);
  } catch {
    say(words.broken, true);
    return;
  }
  modeler.get("canvas").zoom("fit-viewport", "auto");
  offer();
  if (words.mayDraw === "1") {
    modeler.on("commandStack.changed", touch);
    modeler.on("selection.changed", ({ newSelection }) => showHandler(newSelection.length === 1 ? newSelection[0] : null));
    handler.addEventListener("change", change);
    handler.addEventListener("submit", (event) => event.preventDefault());
    addEventListener("beforeunload", (event) => { if (isChanged || isSaving) event.preventDefault(); });
  }
  if (version > 0) show(JSON.parse(document.getElementById("drawing-problems").textContent));

  find("download").addEventListener("click", async () => {
    const { xml } = await modeler.saveXML({ format: true });
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([xml], { type: "application/xml" }));
    link.download = `${words.definition || "process"}.bpmn`;
    link.click();
    URL.revokeObjectURL(link.href);
  });
  page.dataset.ready = "";
})();
