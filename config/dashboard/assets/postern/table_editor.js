// The editor of decision tables: the table is data; the page is drawn from it and read back into it.
(() => {
  const form = document.querySelector("[data-table-editor]");
  if (!form) return;
  const grid = form.querySelector("[data-grid]");
  const table = JSON.parse(document.getElementById("edited-table").textContent);
  const types = JSON.parse(document.getElementById("edited-types").textContent);
  const words = form.dataset;
  let isChanged = false;

  const make = (tag, attributes = {}, ...children) => {
    const element = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) {
      if (name === "value") element.value = value;
      else if (value !== false && value !== undefined) element.setAttribute(name, value === true ? "" : value);
    }
    element.append(...children);
    return element;
  };

  const field = (value, label, keep, attributes = {}) => {
    const input = make("input", { type: "text", value, "aria-label": label, autocomplete: "off", spellcheck: "false", maxlength: "4000", ...attributes });
    input.addEventListener("input", () => { keep(input.value); isChanged = true; });
    return input;
  };

  const typeChoice = (part, label) => {
    const known = types.includes(part.type) || !part.type ? types : [...types, part.type];
    const choice = make("select", { "aria-label": `${words.type}: ${label}` }, make("option", { value: "" }, "–"), ...known.map((name) => make("option", {}, name)));
    choice.value = part.type;
    choice.addEventListener("change", () => { part.type = choice.value; isChanged = true; });
    return choice;
  };

  const button = (icon, label, act, isOff = false) => {
    const found = make("button", { type: "button", class: "pst-icon", title: label, "aria-label": label, disabled: isOff });
    found.append(make("span", { class: "material-symbols-outlined", "aria-hidden": "true" }, icon));
    found.addEventListener("click", act);
    return found;
  };

  const say = (text) => { form.querySelector("[data-said]").textContent = text; };
  const swap = (list, one, other) => { [list[one], list[other]] = [list[other], list[one]]; };

  // A change of rows or columns draws the table anew; the focus stays at what was changed.
  const redraw = (focus) => {
    isChanged = true;
    draw();
    const next = focus && grid.querySelector(focus);
    if (next) next.focus();
  };

  const moveColumn = (side, at, by) => {
    const columns = table[side];
    if (at + by < 0 || at + by >= columns.length) return;
    swap(columns, at, at + by);
    table.rules.forEach((rule) => swap(rule[side], at, at + by));
    redraw(`[data-cell="${side}.head.${at + by}"]`);
    say(by < 0 ? words.columnLeft : words.columnRight);
  };

  const removeColumn = (side, at) => {
    if (side === "outputs" && table.outputs.length === 1) return;
    table[side].splice(at, 1);
    table.rules.forEach((rule) => rule[side].splice(at, 1));
    redraw(`[data-cell="${side}.head.${Math.max(at - 1, 0)}"]`);
    say(words.removeColumn);
  };

  const moveRule = (at, by, cell) => {
    if (at + by < 0 || at + by >= table.rules.length) return;
    swap(table.rules, at, at + by);
    redraw(`[data-row="${at + by}"] ${cell ? `[data-cell="${cell}"]` : "input"}`);
    say(by < 0 ? words.ruleUp : words.ruleDown);
  };

  const removeRule = (at) => {
    table.rules.splice(at, 1);
    redraw(`[data-row="${Math.min(at, table.rules.length - 1)}"] input`);
    say(words.removeRule);
  };

  const addRule = (at = table.rules.length) => {
    table.rules.splice(at, 0, { inputs: table.inputs.map(() => "-"), outputs: table.outputs.map(() => ""), annotation: "", id: "" });
    redraw(`[data-row="${at}"] input`);
    say(words.addRule);
  };

  const headOf = (side, column, at) => {
    const isInput = side === "inputs";
    const shown = column.label || column.expression || column.name || `${at + 1}`;
    const keyword = isInput ? "expression" : "name";
    const parts = [
      field(column[keyword], `${words[keyword]}: ${shown}`, (value) => { column[keyword] = value; }, { "data-cell": `${side}.head.${at}`, placeholder: words[keyword], class: "pst-feel" }),
      field(column.label, `${words.label}: ${shown}`, (value) => { column.label = value; }, { placeholder: words.label }),
      typeChoice(column, shown),
    ];
    if (!isInput) {
      parts.push(field(column.values, `${words.values}: ${shown}`, (value) => { column.values = value; }, { placeholder: words.values, class: "pst-feel" }));
      parts.push(field(column.default, `${words.default}: ${shown}`, (value) => { column.default = value; }, { placeholder: words.default, class: "pst-feel" }));
    }
    const columns = table[side];
    const buttons = make("span", { class: "pst-column-buttons" },
      button("chevron_left", `${words.columnLeft}: ${shown}`, () => moveColumn(side, at, -1), at === 0),
      button("chevron_right", `${words.columnRight}: ${shown}`, () => moveColumn(side, at, 1), at === columns.length - 1),
      button("delete", `${words.removeColumn}: ${shown}`, () => removeColumn(side, at), !isInput && columns.length === 1));
    return make("th", { scope: "col", class: isInput ? false : "pst-output" }, buttons, ...parts);
  };

  const rowOf = (rule, at) => {
    const number = at + 1;
    const cells = ["inputs", "outputs"].flatMap((side) => rule[side].map((text, place) => {
      const column = table[side][place];
      const label = `${words.rule} ${number}, ${column.label || column.expression || column.name || place + 1}`;
      const entry = field(text, label, (value) => { rule[side][place] = value; }, { "data-cell": `${side}.${place}`, class: "pst-feel" });
      return make("td", { class: side === "outputs" ? "pst-output" : false }, entry);
    }));
    const note = field(rule.annotation, `${words.note}, ${words.rule} ${number}`, (value) => { rule.annotation = value; }, { "data-cell": "note" });
    const buttons = make("td", { class: "pst-row-buttons" },
      button("arrow_upward", `${words.ruleUp} ${number}`, () => moveRule(at, -1), at === 0),
      button("arrow_downward", `${words.ruleDown} ${number}`, () => moveRule(at, 1), at === table.rules.length - 1),
      button("delete", `${words.removeRule} ${number}`, () => removeRule(at)));
    return make("tr", { "data-row": at }, make("th", { scope: "row" }, String(number)), ...cells, make("td", {}, note), buttons);
  };

  const draw = () => {
    const heads = [...table.inputs.map((column, at) => headOf("inputs", column, at)), ...table.outputs.map((column, at) => headOf("outputs", column, at))];
    const head = make("thead", {}, make("tr", {}, make("th", { scope: "col" }, "#"), ...heads, make("th", { scope: "col" }, words.note), make("th", {})));
    grid.replaceChildren(head, make("tbody", {}, ...table.rules.map(rowOf)));
    form.querySelector("[data-aggregation-field]").hidden = table.hit !== "COLLECT";
  };

  grid.addEventListener("keydown", (event) => {
    const cell = event.target.dataset && event.target.dataset.cell;
    if (!cell || event.isComposing) return;
    const row = event.target.closest("[data-row]");
    const at = row ? Number(row.dataset.row) : -1;
    const [side, second, third] = cell.split(".");
    if (event.key === "Enter" && row) {
      event.preventDefault();
      if (at + 1 === table.rules.length) addRule();
      else grid.querySelector(`[data-row="${at + 1}"] [data-cell="${cell}"]`).focus();
    } else if (event.altKey && row && (event.key === "ArrowUp" || event.key === "ArrowDown")) {
      event.preventDefault();
      moveRule(at, event.key === "ArrowUp" ? -1 : 1, cell);
    } else if (event.altKey && second === "head" && (event.key === "ArrowLeft" || event.key === "ArrowRight")) {
      event.preventDefault();
      moveColumn(side, Number(third), event.key === "ArrowLeft" ? -1 : 1);
    }
  });

  form.addEventListener("click", (event) => {
    const wanted = event.target.closest("[data-do]");
    if (!wanted) return;
    if (wanted.dataset.do === "add-rule") addRule();
    if (wanted.dataset.do === "add-input") {
      table.inputs.push({ expression: "", label: "", type: "", values: "", id: "" });
      table.rules.forEach((rule) => rule.inputs.push("-"));
      redraw(`[data-cell="inputs.head.${table.inputs.length - 1}"]`);
    }
    if (wanted.dataset.do === "add-output") {
      table.outputs.push({ name: "", label: "", type: "", values: "", default: "", id: "" });
      table.rules.forEach((rule) => rule.outputs.push(""));
      redraw(`[data-cell="outputs.head.${table.outputs.length - 1}"]`);
    }
  });

  const hit = form.querySelector("[data-hit]");
  hit.value = table.hit;
  hit.addEventListener("change", () => {
    table.hit = hit.value;
    if (table.hit !== "COLLECT") table.aggregation = "";
    redraw();
  });
  const aggregation = form.querySelector("[data-aggregation]");
  aggregation.value = table.aggregation;
  aggregation.addEventListener("change", () => { table.aggregation = aggregation.value; isChanged = true; });
  form.addEventListener("submit", () => {
    form.querySelector("[data-value]").value = JSON.stringify(table);
    isChanged = false;
  });
  window.addEventListener("beforeunload", (event) => { if (isChanged) event.preventDefault(); });
  draw();
})();
