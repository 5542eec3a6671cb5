"use strict";

// Keeps the start page as the server tells it. The page was drawn by the server; each section says by its attributes
// what of a message it shows: `data-value` a number, `data-bars` a chart, `data-rows` a list with a template beside it.
(() => {
  const UNITS = [["day", 86400], ["hour", 3600], ["minute", 60], ["second", 1]];
  const SEVERITIES = ["critical", "warning", "notice", "task"];
  const SECTIONS = ["sensors", "deliveries", "workflows", "sessions", "changes", "runtime", "beyond", "inbox"];

  const CARDS = ["drawn-changes", "drawn-events"];
  const CARDS_PAUSE = 30000;
  const UNATTENDED = { Accept: "text/html", "X-Unattended": "1" }; // nobody at the desk has asked

  const page = document.querySelector(".pst-start");
  const isWall = document.body.classList.contains("pst-wall");
  const language = document.documentElement.lang || "en";
  const numbers = new Intl.NumberFormat(language);
  const times = new Intl.RelativeTimeFormat(language, { numeric: "auto", style: "short" });
  const known = Object.fromEntries(SECTIONS.map((section) => [section, {}]));

  const wordsOf = (element) => {
    const section = element.closest("[data-words]");
    return section ? JSON.parse(section.dataset.words) : {};
  };

  const put = (element, text) => {
    if (element.textContent !== String(text)) element.textContent = text;
  };

  // --- the line ---------------------------------------------------------------------------------------------------

  const say = (state, shown) => {
    const line = page.querySelector("[data-connection]");
    const lost = page.querySelector(".pst-lost");
    const isStale = state === "lost" || state === "out";
    line.dataset.state = state;
    put(line, line.dataset[state]);
    if (state === "again") return;
    lost.hidden = !isStale;
    page.toggleAttribute("data-stale", isStale);
    if (isStale) put(lost, window.posternShowing(lost.dataset.words, shown, page.dataset.zone));
  };

  let isTold = false;
  const hear = (frame) => {
    const isWhole = frame.type === "snapshot";
    if (isWhole && drawAnew(frame)) return;
    if (isWhole && isTold) fetchCards(); // at first they were drawn with the page
    isTold = true;
    showEngines(frame.engines);
    if (panel) showProcesses(frame, isWhole);
    SECTIONS.forEach((section) => {
      if (isWhole) known[section] = {};
      Object.assign(known[section], frame[section]);
      if (section === "inbox") return;
      Object.entries(frame[section]).forEach(([name, value]) => showValue(`${section}.${name}`, value));
    });
    if (isWhole || Object.keys(frame.inbox).length || Object.keys(frame.beyond).length) showInbox();
    if (isWhole || Object.keys(frame.workflows).length) fetchMine();
    noteAlerts(frame.alerts);
    tick();
  };

  // Whose tasks they are differs from reader to reader: the server is asked for them when work has moved, not too often.
  const mine = document.getElementById("my-tasks");
  let mineAt = -Infinity;
  let mineDue = null;
  const fetchMine = () => {
    if (!mine || mineDue) return;
    mineDue = setTimeout(async () => {
      mineDue = null;
      mineAt = performance.now();
      const answer = await fetch(mine.dataset.fetch, { headers: UNATTENDED }).catch(() => null);
      if (!answer?.ok || answer.redirected) return;
      const text = (await answer.text()).trim();
      mine.innerHTML = text;
      mine.hidden = !text;
    }, Math.max(0, mineAt + 5000 - performance.now()));
  };

  // What the server alone draws, from time to time: the last changes of the registry, the events of a day.
  const fetchCards = async () => {
    if (!page.dataset.cards || document.hidden) return;
    const answer = await fetch(page.dataset.cards, { headers: UNATTENDED }).catch(() => null);
    if (!answer?.ok || answer.redirected) return;
    const fresh = new DOMParser().parseFromString(await answer.text(), "text/html");
    CARDS.forEach((id) => {
      const [mine, theirs] = [document.getElementById(id), fresh.getElementById(id)];
      if (mine && theirs && !mine.contains(document.activeElement)) takeCard(mine, theirs);
    });
    tick();
  };

  const takeCard = (mine, theirs) => {
    const [old, recent] = [mine.querySelector("canvas"), theirs.querySelector("canvas")];
    if (!old) {
      mine.replaceChildren(...[...theirs.childNodes].map((node) => document.importNode(node, true)));
      return;
    }
    mine.querySelector("header").replaceWith(document.importNode(theirs.querySelector("header"), true));
    [".pst-chart", ".pst-empty"].forEach((part) => { mine.querySelector(part).hidden = theirs.querySelector(part).hidden; });
    const chart = window.Chart.getChart(old);
    const { labels, datasets } = JSON.parse(recent.dataset.value);
    chart.data.labels = labels;
    datasets.forEach(({ data }, place) => { chart.data.datasets[place].data = data; }); // their colours are the theme's
    chart.update();
  };

  // What somebody may see has changed, or the product is another version: the server draws the page for it. Not over and
  // over.
  const drawAnew = ({ parts, version }) => {
    const wanted = `${version} ${parts.join(",")}`;
    if (wanted === `${page.dataset.version} ${page.dataset.parts}` || sessionStorage.getItem("postern-drawn-for") === wanted) return false;
    sessionStorage.setItem("postern-drawn-for", wanted);
    location.reload();
    return true;
  };

  // --- values, charts, lists ----------------------------------------------------------------------------------------

  const showValue = (path, value) => {
    page.querySelectorAll(`[data-value="${path}"]`).forEach((field) => showNumber(field, value, field.dataset.bounded || path));
    page.querySelectorAll(`[data-flag="${path}"]`).forEach((field) => { field.hidden = !value; });
    page.querySelectorAll(`[data-bars="${path}"]`).forEach((chart) => showBars(chart, value));
    page.querySelectorAll(`[data-most-of="${path}"]`).forEach((field) => put(field, numbers.format(Math.max(0, ...value))));
    page.querySelectorAll(`[data-rows="${path}"]`).forEach((list) => showRows(list, value));
  };

  // A count ends at a limit: its own, or that of the rows that were looked at for it.
  const showNumber = (field, value, limited) => {
    const [section, name] = limited.split(".");
    const isMore = "bounded" in field.dataset && known[section][name] >= Number(page.dataset.most);
    put(field, value === null ? "–" : numbers.format(value) + (isMore ? "+" : ""));
    field.parentElement.toggleAttribute("data-some", Boolean(value));
  };

  const showBars = (chart, values) => {
    const bars = [...chart.children];
    const shown = Array(Math.max(0, bars.length - values.length)).fill(0).concat(values).slice(-bars.length);
    const greatest = Math.max(1, ...shown);
    bars.forEach((bar, place) => {
      bar.style.setProperty("--height", `${shown[place] ? Math.max(2, (100 * shown[place]) / greatest) : 0}%`);
      bar.title = numbers.format(shown[place]);
    });
  };

  const showRows = (list, items) => {
    const words = wordsOf(list);
    const pattern = list.nextElementSibling.content.firstElementChild;
    const present = new Map([...list.children].map((row) => [row.dataset.key, row]));
    const rows = items.map((item) => {
      const row = present.get(String(item.key)) || makeRow(pattern, item.key);
      fillRow(row, item, words);
      return row;
    });
    if (!rows.length && list.dataset.empty) rows.push(makeEmpty(list.dataset.empty));
    if (rows.length !== list.children.length || rows.some((row, place) => row !== list.children[place])) list.replaceChildren(...rows);
  };

  const makeRow = (pattern, key) => {
    const row = pattern.cloneNode(true);
    row.dataset.key = key;
    row.classList.add("pst-new");
    return row;
  };

  const makeEmpty = (words) => {
    const row = document.createElement("li");
    row.className = "pst-empty";
    row.textContent = words;
    return row;
  };

  const fillRow = (row, item, words) => {
    ["what", "state", "status", "severity", "failures"].forEach((name) => { if (name in item) row.dataset[name] = item[name]; });
    row.querySelectorAll("[data-field]").forEach((field) => {
      const value = item[field.dataset.field];
      put(field, "say" in field.dataset ? words[value] || value : typeof value === "number" && field.dataset.field !== "key" ? numbers.format(value) : value);
    });
    row.querySelectorAll("[data-page]").forEach((link) => {
      if (item.page) link.href = item.page;
      else link.removeAttribute("href");
    });
    row.querySelectorAll("[data-time]").forEach((time) => {
      const value = item[time.dataset.time];
      if (value) time.dateTime = value;
      else time.removeAttribute("datetime");
      if (!value) put(time, "");
    });
  };

  const tick = () => {
    page.querySelectorAll("time[datetime]").forEach((time) => {
      const seconds = Math.round((line.now() - new Date(time.dateTime)) / 1000);
      const [unit, size] = UNITS.find(([, least]) => Math.abs(seconds) >= least) || UNITS[UNITS.length - 1];
      put(time, times.format(-Math.trunc(seconds / size), unit));
      time.title = `${new Date(time.dateTime).toISOString().slice(0, 19).replace("T", " ")} UTC`;
    });
    const clock = page.querySelector("[data-clock]");
    if (clock) put(clock, window.posternShowing("TIME", new Date(line.now()), page.dataset.zone));
  };

  // --- what waits for a person --------------------------------------------------------------------------------------

  const inbox = page.querySelector("[data-inbox]");
  let newestAlert = null; // its number; they rise
  let sound = null;
  let unseen = 0;

  const showInbox = () => {
    const order = (row) => [SEVERITIES.indexOf(row.severity), row.since ? Date.parse(row.since) : 0];
    const rows = Object.values(known.inbox).flat().sort((one, other) => {
      const [mine, yours] = [order(one), order(other)];
      return mine[0] - yours[0] || mine[1] - yours[1] || (one.key < other.key ? -1 : 1);
    });
    const count = Object.values(known.beyond).reduce((sum, each) => sum + each, rows.length);
    const section = inbox.closest("section");
    const words = wordsOf(inbox);
    const pattern = section.querySelector("template").content.firstElementChild;
    const present = new Map([...inbox.children].map((row) => [row.dataset.key, row]));
    const shown = rows.slice(0, Number(section.dataset.rowsShown)).map((item) => {
      const row = present.get(item.key) || makeRow(pattern, item.key);
      const button = row.querySelector("[data-acknowledge]");
      fillRow(row, item, words);
      if (button) {
        button.dataset.acknowledge = item.alert || "";
        button.hidden = !item.alert;
      }
      return row;
    });
    if (shown.length !== inbox.children.length || shown.some((row, place) => row !== inbox.children[place])) inbox.replaceChildren(...shown);
    section.querySelector("[data-when=calm]").hidden = rows.length !== 0;
    section.querySelector("[data-inbox-more]").hidden = count <= shown.length;
    const total = section.querySelector("[data-inbox-total]");
    total.hidden = rows.length === 0;
    put(total, numbers.format(count) + (count >= Number(page.dataset.most) ? "+" : ""));
  };

  // Those that were there when the page was opened are no news; those that came while the line was lost are.
  const noteAlerts = (alerts) => {
    const fresh = alerts.filter((alert) => alert.status === "open" && newestAlert !== null && alert.id > newestAlert);
    newestAlert = alerts.reduce((newest, alert) => Math.max(newest, alert.id), newestAlert || 0);
    if (!fresh.length || !isWanted()) return;
    unseen += fresh.length;
    document.title = `(${unseen}) ${title}`;
    if (sound && sound.state === "running") beep();
  };

  const beep = () => {
    const tone = sound.createOscillator();
    const volume = sound.createGain();
    tone.frequency.value = 880;
    volume.gain.setValueAtTime(0.2, sound.currentTime);
    volume.gain.exponentialRampToValueAtTime(0.001, sound.currentTime + 0.5);
    tone.connect(volume).connect(sound.destination);
    tone.start();
    tone.stop(sound.currentTime + 0.5);
  };

  const title = document.title;
  const wish = page.querySelector("[data-notify]");
  const isWanted = () => localStorage.getItem("postern-notify") === "1";
  const allowSound = () => {
    sound = sound || new AudioContext();
    sound.resume();
  };
  const seeAlerts = () => {
    unseen = 0;
    document.title = title;
  };
  if (wish) {
    wish.disabled = false;
    wish.checked = isWanted();
    wish.addEventListener("change", () => {
      localStorage.setItem("postern-notify", wish.checked ? "1" : "0");
      if (wish.checked) allowSound();
    });
    // A browser lets a page sound only after its reader has touched it.
    addEventListener("pointerdown", () => { if (wish.checked) allowSound(); }, { once: true });
    ["focus", "pointerdown", "keydown"].forEach((sign) => addEventListener(sign, seeAlerts));
  } else if (isWanted()) {
    allowSound(); // a wall screen has no box to tick: it does as this browser's start page was told
  }

  inbox.addEventListener("click", async (event) => {
    const button = event.target.closest("[data-acknowledge]");
    if (!button) return;
    const refusal = page.querySelector("[data-refusal]");
    button.disabled = true;
    const headers = { "X-CSRFToken": page.querySelector("[name=csrfmiddlewaretoken]").value };
    const answer = await fetch(`/api/v1/alerts/${button.dataset.acknowledge}/acknowledge/`, { method: "POST", headers }).catch(() => null);
    button.disabled = false;
    // Somebody else was faster: that is told by the socket too.
    const isDone = answer !== null && (answer.ok || answer.status === 409);
    button.hidden = isDone;
    refusal.hidden = isDone;
    put(refusal, refusal.dataset.words);
  });

  // --- engines and exchange processes -------------------------------------------------------------------------------

  const showEngines = (engines) => {
    Object.entries(engines).forEach(([name, state]) => {
      const tile = page.querySelector(`[data-engine=${name}]`);
      if (!tile || tile.dataset.state === state || state === "off") return;
      const field = tile.querySelector(".pst-state");
      tile.dataset.state = state;
      field.textContent = field.dataset[state];
    });
  };

  const panel = document.getElementById("exchange"); // not everybody may see it
  const find = (selector) => panel.querySelector(selector);
  const words = panel && JSON.parse(panel.dataset.words);
  const pattern = panel && find("template").content.firstElementChild;
  const lists = panel && { live: find("[data-list=live]"), ended: find("[data-list=ended]") };
  const watched = panel && [...panel.querySelectorAll(".pst-split-words li")].map((item) => item.dataset.status);

  const make = (id) => {
    const row = pattern.cloneNode(true);
    const link = row.querySelector("a");
    row.id = `process-${id}`;
    if (link) link.href = panel.dataset.page.replace(panel.dataset.any, id);
    return row;
  };

  const show = (process) => {
    const row = document.getElementById(`process-${process.id}`) || make(process.id);
    const list = watched.includes(process.status) ? lists.live : lists.ended;
    const files = process.files ? `${process.moved}/${process.files}` : "";
    const { name, database, messages } = process;
    Object.entries({ name, database, messages, files, words: words[process.status] || process.status }).forEach(([field, text]) => {
      put(row.querySelector(`[data-field=${field}]`), text);
    });
    row.dataset.status = process.status;
    row.querySelector(".pst-way").style.setProperty("--moved", `${process.files ? (100 * process.moved) / process.files : 0}%`);
    row.querySelector("time").dateTime = process.ended_at || process.started_at;
    if (row.parentElement !== list) list.prepend(row);
  };

  const count = () => {
    const rows = [...lists.live.children];
    watched.forEach((status) => {
      const number = rows.filter((row) => row.dataset.status === status).length;
      panel.querySelectorAll(`.pst-split [data-status=${status}], .pst-split-words [data-status=${status}]`).forEach((item) => {
        item.hidden = number === 0;
        item.style.flexGrow = item.tagName === "I" ? number : "";
      });
      find(`.pst-split-words [data-status=${status}] b`).textContent = number;
    });
    find("[data-when=live]").hidden = rows.length === 0;
    find("[data-when=idle]").hidden = rows.length !== 0;
    find("[data-when=ended]").hidden = lists.ended.children.length === 0;
  };

  const showProcesses = (frame, isWhole) => {
    if (isWhole) Object.values(lists).forEach((list) => list.replaceChildren());
    frame.processes.slice().reverse().forEach(show); // the newest is told first, and stands first
    [...lists.ended.children].slice(Number(panel.dataset.rows)).forEach((row) => row.remove());
    count();
  };

  const line = window.posternSocket({ query: () => (isWall ? "?wall=1" : ""), shown: new Date(page.dataset.at), hear, say });
  setInterval(tick, 1000);
  setInterval(fetchCards, CARDS_PAUSE);
})();
