"use strict";

// Keeps the engines and the panel of exchange processes as the server tells them: a snapshot first, then what changed.
// The server gives a sign of life every five seconds; after ten without one the page says what it is: how things stood.
(() => {
  const SIGNED_OUT = 4403;
  const LONGEST_PAUSE = 30000;
  const UNITS = [["day", 86400], ["hour", 3600], ["minute", 60], ["second", 1]];

  const SILENCE = 10000;

  const page = document.querySelector(".pst-start");
  const lost = page.querySelector(".pst-lost");
  const panel = document.getElementById("exchange"); // not everybody may see it
  const find = (selector) => panel.querySelector(selector);
  const words = panel && JSON.parse(panel.dataset.words);
  const pattern = panel && find("template").content.firstElementChild;
  const lists = panel && { live: find("[data-list=live]"), ended: find("[data-list=ended]") };
  const watched = panel && [...panel.querySelectorAll(".pst-split-words li")].map((item) => item.dataset.status);
  const times = new Intl.RelativeTimeFormat(document.documentElement.lang || "en", { numeric: "auto", style: "short" });
  let ahead = 0; // how far this clock is ahead of the server's, in milliseconds
  let pause = 1000;
  let socket = null;
  let timer = 0;
  let opened = 0; // when this socket was; like `heard` by a clock that nobody sets
  let heard = performance.now();
  let shown = new Date(page.dataset.at); // the server's time of what the page shows

  const say = (state) => {
    const line = page.querySelector("[data-connection]");
    line.dataset.state = state;
    line.textContent = line.dataset[state];
  };

  const isStale = () => "stale" in page.dataset;

  const lose = (state) => {
    const clock = { hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23", timeZone: page.dataset.zone };
    const time = new Intl.DateTimeFormat(document.documentElement.lang || "en", clock).format(shown);
    lost.textContent = lost.dataset.words.replace("TIME", time);
    lost.hidden = false;
    page.dataset.stale = "";
    say(state);
  };

  const recover = () => {
    lost.hidden = true;
    delete page.dataset.stale;
  };

  const write = (row, values) => {
    Object.entries(values).forEach(([name, text]) => {
      const field = row.querySelector(`[data-field=${name}]`);
      if (field.textContent !== String(text)) field.textContent = text;
    });
  };

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
    write(row, { name, database, messages, files, words: words[process.status] || process.status });
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

  const tick = () => {
    page.querySelectorAll(".pst-process time").forEach((time) => {
      const seconds = Math.max(0, Math.round((Date.now() - ahead - new Date(time.dateTime)) / 1000));
      const [unit, size] = UNITS.find(([, least]) => seconds >= least) || UNITS[UNITS.length - 1];
      const text = times.format(-Math.floor(seconds / size), unit);
      if (time.textContent !== text) time.textContent = text;
    });
  };

  const showEngines = (engines) => {
    Object.entries(engines).forEach(([name, state]) => {
      const tile = page.querySelector(`[data-engine=${name}]`);
      if (!tile || tile.dataset.state === state || state === "off") return;
      const field = tile.querySelector(".pst-state");
      tile.dataset.state = state;
      field.textContent = field.dataset[state];
    });
  };

  const hear = (frame) => {
    if (isStale() && frame.type !== "snapshot") return; // what changed since is no whole picture
    heard = performance.now();
    shown = new Date(frame.at);
    ahead = Date.now() - shown;
    if (frame.type === "snapshot") recover();
    say("live");
    if (frame.type === "heartbeat") return;
    showEngines(frame.engines);
    if (panel) showProcesses(frame);
  };

  const showProcesses = (frame) => {
    if (frame.type === "snapshot") Object.values(lists).forEach((list) => list.replaceChildren());
    frame.processes.slice().reverse().forEach(show); // the newest is told first, and stands first
    [...lists.ended.children].slice(Number(panel.dataset.rows)).forEach((row) => row.remove());
    count();
    tick();
  };

  const open = () => {
    clearTimeout(timer);
    opened = performance.now();
    const mine = new WebSocket(`${location.protocol.replace("http", "ws")}//${location.host}/ws/dashboard/`);
    socket = mine;
    mine.onmessage = (event) => {
      if (socket !== mine) return;
      pause = 1000;
      hear(JSON.parse(event.data));
    };
    mine.onclose = (event) => {
      if (socket !== mine) return;
      if (event.code === SIGNED_OUT) {
        socket = null;
        lose("out");
        return;
      }
      openAgain();
    };
  };

  const openAgain = () => {
    socket = null;
    if (!isStale()) say("again");
    // Pages that lost the same server must not all come back at once.
    timer = setTimeout(open, pause * (0.5 + Math.random()));
    pause = Math.min(pause * 2, LONGEST_PAUSE);
  };

  // A server that hangs closes nothing: its silence is all there is.
  const listen = () => {
    const now = performance.now();
    if (now - heard > SILENCE && !isStale()) lose("lost");
    if (socket === null || now - Math.max(heard, opened) <= SILENCE) return;
    const silent = socket;
    openAgain();
    silent.close();
  };

  const leave = () => {
    const last = socket;
    socket = null;
    clearTimeout(timer);
    if (last) last.close();
  };

  // A page that is left may be shown again as it was: with a new socket.
  addEventListener("pagehide", leave);
  addEventListener("pageshow", (event) => { if (event.persisted) open(); });
  setInterval(() => {
    tick();
    listen();
  }, 1000);
  open();
})();
