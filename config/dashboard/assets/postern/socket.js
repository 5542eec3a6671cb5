"use strict";

// The one line to the server, for the start page and for every page that watches its rows: something whole first, then
// what changed. The server gives a sign of life every five seconds; after ten without one the page says what it is: how
// things stood. What a page does with the messages is its own: `hear` gets them, `say` the state of the line.
window.posternSocket = ({ query, shown, hear, say }) => {
  const SIGNED_OUT = 4403;
  const LONGEST_PAUSE = 30000;
  const SILENCE = 10000;
  const WHOLE = ["snapshot", "watching"];

  let ahead = 0; // how far this clock is ahead of the server's, in milliseconds
  let pause = 1000;
  let socket = null;
  let timer = 0;
  let opened = 0; // when this socket was; like `heard` by a clock that nobody sets
  let heard = performance.now();
  let isStale = false;

  const lose = (state) => {
    isStale = true;
    say(state, shown);
  };

  const take = (frame) => {
    const isWhole = WHOLE.includes(frame.type);
    if (isStale && !isWhole) return; // what changed since is no whole picture
    heard = performance.now();
    shown = new Date(frame.at);
    ahead = Date.now() - shown;
    if (isWhole) isStale = false;
    if (frame.type !== "heartbeat") hear(frame);
    say("live", shown);
  };

  const open = () => {
    clearTimeout(timer);
    opened = performance.now();
    const mine = new WebSocket(`${location.protocol.replace("http", "ws")}//${location.host}/ws/dashboard/${query()}`);
    socket = mine;
    mine.onmessage = (event) => {
      if (socket !== mine) return;
      pause = 1000;
      take(JSON.parse(event.data));
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
    if (!isStale) say("again", shown);
    // Pages that lost the same server must not all come back at once.
    timer = setTimeout(open, pause * (0.5 + Math.random()));
    pause = Math.min(pause * 2, LONGEST_PAUSE);
  };

  // A server that hangs closes nothing: its silence is all there is.
  const listen = () => {
    const now = performance.now();
    if (now - heard > SILENCE && !isStale) lose("lost");
    if (socket === null || now - Math.max(heard, opened) <= SILENCE) return;
    const silent = socket;
    openAgain();
    part(silent);
  };

  // Closed before it is open, a socket complains in the reader's console.
  const part = (left) => {
    if (left.readyState === WebSocket.CONNECTING) left.onopen = () => left.close();
    else left.close();
  };

  const leave = () => {
    const last = socket;
    socket = null;
    clearTimeout(timer);
    if (last) part(last);
  };

  // A page that is left may be shown again as it was: with a new socket.
  addEventListener("pagehide", leave);
  addEventListener("pageshow", (event) => { if (event.persisted) open(); });
  setInterval(listen, 1000);
  open();
  return {
    now: () => Date.now() - ahead,
    reopen: () => {
      leave();
      open();
    },
  };
};

// "connection lost, showing 10:02:11": the words with the time, by the clock of the page's reader.
window.posternShowing = (words, time, timeZone) => {
  const clock = { hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23", timeZone };
  return words.replace("TIME", new Intl.DateTimeFormat(document.documentElement.lang || "en", clock).format(time));
};
