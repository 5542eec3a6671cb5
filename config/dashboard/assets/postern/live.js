"use strict";

// Keeps the panel of exchange processes as the server tells it: a snapshot first, then what changed.
(() => {
  const SIGNED_OUT = 4403;
  const LONGEST_PAUSE = 30000;
  const UNITS = [["day", 86400], ["hour", 3600], ["minute", 60], ["second", 1]];

  const panel = document.getElementById("exchange");
  const find = (selector) => panel.querySelector(selector);
  const words = JSON.parse(panel.dataset.words);
  const pattern = find("template").content.firstElementChild;
  const lists = { live: find("[data-list=live]"), ended: find("[data-list=ended]") };
  const watched = [...panel.querySelectorAll(".pst-split-words li")].map((item) => item.dataset.status);
  const times = new Intl.RelativeTimeFormat(document.documentElement.lang || "en", { numeric: "auto", style: "short" });
  let ahead = 0; // how far this clock is ahead of the server's, in milliseconds
  let pause = 1000;
  let socket = null;
  let timer = 0;

  const say = (state) => {
    const line = find("[data-connection]");
    line.dataset.state = state;
    line.textContent = line.dataset[state];
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
    panel.querySelectorAll(".pst-process time").forEach((time) => {
      const seconds = Math.max(0, Math.round((Date.now() - ahead - new Date(time.dateTime)) / 1000));
      const [unit, size] = UNITS.find(([, least]) => seconds >= least) || UNITS[UNITS.length - 1];
      const text = times.format(-Math.floor(seconds / size), unit);
      if (time.textContent !== text) time.textContent = text;
    });
  };

  const hear = (frame) => {
    ahead = Date.now() - new Date(frame.at);
    if (frame.type === "snapshot") Object.values(lists).forEach((list) => list.replaceChildren());
    frame.processes.slice().reverse().forEach(show); // the newest is told first, and stands first
    [...lists.ended.children].slice(Number(panel.dataset.rows)).forEach((row) => row.remove());
    count();
    tick();
  };

  const open = () => {
    clearTimeout(timer);
    const mine = new WebSocket(`${location.protocol.replace("http", "ws")}//${location.host}/ws/dashboard/`);
    socket = mine;
    mine.onmessage = (event) => {
      pause = 1000;
      say("live");
      hear(JSON.parse(event.data));
    };
    mine.onclose = (event) => {
      if (socket !== mine) return;
      if (event.code === SIGNED_OUT) {
        say("out");
        return;
      }
      say("again");
      // Pages that lost the same server must not all come back at once.
      timer = setTimeout(open, pause * (0.5 + Math.random()));
      pause = Math.min(pause * 2, LONGEST_PAUSE);
    };
  };

  const leave = () => {
    const last = socket;
    socket = null;
    if (last) last.close();
  };

  // A page that is left may be shown again as it was: with a new socket.
  addEventListener("pagehide", leave);
  addEventListener("pageshow", (event) => { if (event.persisted) open(); });
  setInterval(tick, 1000);
  open();
})();
