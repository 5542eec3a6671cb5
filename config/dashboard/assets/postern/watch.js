"use strict";

// Lists and pages whose rows change: the socket names the rows that this page shows, and when one of them has changed
// the page fetches itself anew and takes over what differs, at most every few seconds. What somebody is typing into,
// has ticked or has opened stays as it is.
(() => {
  const WATCHED = [
    "sensors.sensor",
    "sensors.client",
    "notifications.alert",
    "notifications.delivery",
    "notifications.incident",
    "notifications.parkedmessage",
    "notifications.repeatsession",
    "messaging.message",
    "exchange.exchangeprocess",
    "workflows.workflowinstance",
    "workflows.workitem",
    "workflows.workflowbatch",
    "coordination.appevent",
  ];
  const MOST_ROWS = 100;
  const LEAST_PAUSE = 2000;
  const SHARE = 10; // of the time between two fetches, so much at most is spent on fetching: a tenth

  const [, app, model, own] = location.pathname.match(/^\/admin\/([a-z]+)\/([a-z]+)\/(?:(.+)\/change\/)?$/) || [];
  const kind = `${app}.${model}`;
  if (!WATCHED.includes(kind) || new URLSearchParams(location.search).has("at")) return; // what was does not change

  // --- which rows ---------------------------------------------------------------------------------------------------

  const findRows = () => {
    if (own) return [decodeURIComponent(own)];
    const start = `/admin/${app}/${model}/`;
    const links = [...document.querySelectorAll(`#result_list a[href^="${start}"]`)];
    const ids = links.map((link) => new URL(link.href).pathname.slice(start.length).match(/^(.+)\/change\/$/)?.[1]);
    return ["", ...new Set(ids.filter(Boolean).map(decodeURIComponent))].slice(0, MOST_ROWS);
  };

  // --- taking over what differs -------------------------------------------------------------------------------------

  const isBound = (element, name) => element.hasAttribute(`x-bind:${name}`) || element.hasAttribute(`:${name}`);
  // The theme's script changes these as it runs; what is open or ticked is the reader's.
  const isOurs = (element, name) => !/^(x-|:|@|open$|checked$|style$|data-simplebar|aria-hidden$|tabindex$)/.test(name) && !isBound(element, name);

  const takeAttributes = (mine, fresh) => {
    [...fresh.attributes].forEach(({ name, value }) => {
      if (isOurs(mine, name) && mine.getAttribute(name) !== value) mine.setAttribute(name, value);
    });
    [...mine.attributes].forEach(({ name }) => {
      // What a control that is drawn as an icon is called was added here, by page.js.
      if (isOurs(mine, name) && !/^(role|aria-label)$/.test(name) && !fresh.hasAttribute(name)) mine.removeAttribute(name);
    });
    if (!fresh.hasAttribute("x-show") && fresh.getAttribute("style") !== null && mine.getAttribute("style") !== fresh.getAttribute("style")) {
      mine.setAttribute("style", fresh.getAttribute("style"));
    }
  };

  const take = (mine, fresh) => {
    if (mine.nodeType !== fresh.nodeType || mine.nodeName !== fresh.nodeName) {
      mine.replaceWith(document.importNode(fresh, true));
      return;
    }
    if (mine.nodeType !== Node.ELEMENT_NODE) {
      if (mine.nodeValue !== fresh.nodeValue) mine.nodeValue = fresh.nodeValue;
      return;
    }
    if (/^(INPUT|SELECT|TEXTAREA|CANVAS|SCRIPT)$/.test(mine.nodeName)) return;
    takeAttributes(mine, fresh);
    takeChildren(mine, fresh);
  };

  const takeChildren = (mine, fresh) => {
    const [old, recent] = [[...mine.childNodes], [...fresh.childNodes]];
    recent.forEach((node, place) => {
      if (place < old.length) take(old[place], node);
      else mine.append(document.importNode(node, true));
    });
    old.slice(recent.length).forEach((node) => node.remove());
  };

  // A page that is a form keeps its fields: only what stands around them is taken over.
  const FIELDS = "input:not([type=hidden]), select, textarea";
  const findRegions = (root) => {
    if (!own) return [...root.querySelectorAll("#changelist-form")];
    const content = root.querySelector("#content");
    return content && !content.querySelector(FIELDS) ? [content] : [...root.querySelectorAll("#content .pst-sections")];
  };

  const isInUse = () => {
    const active = document.activeElement;
    const isTyping = active && active.matches(FIELDS) && active.closest("#content");
    return isTyping || document.querySelector("input.action-select:checked") || !getSelection().isCollapsed;
  };

  const takeOver = (fresh) => {
    const [mine, theirs] = [findRegions(document), findRegions(fresh)];
    if (mine.length !== theirs.length) return;
    mine.forEach((region, place) => {
      if (!own && !region.querySelector("#result_list") !== !theirs[place].querySelector("#result_list")) {
        region.replaceChildren(...[...theirs[place].childNodes].map((node) => document.importNode(node, true)));
      } else take(own ? region : region.querySelector("#result_list") || region, own ? theirs[place] : theirs[place].querySelector("#result_list") || theirs[place]);
    });
  };

  // --- when ---------------------------------------------------------------------------------------------------------

  let line = null;
  let rows = "";
  let isDue = false;
  let notBefore = 0;
  const refresh = async () => {
    if (!isDue || document.hidden || performance.now() < notBefore || isInUse()) return;
    isDue = false;
    notBefore = Infinity; // one at a time
    const began = performance.now();
    try {
      const answer = await fetch(location.href, { headers: { Accept: "text/html", "X-Unattended": "1" } });
      if (answer.ok && !answer.redirected) takeOver(new DOMParser().parseFromString(await answer.text(), "text/html"));
      if (findRows().join(",") !== rows) line.reopen(); // there are others on the list now
    } catch {
      isDue = true; // the line says itself that it is lost
    }
    const took = performance.now() - began;
    notBefore = performance.now() + Math.max(LEAST_PAUSE, SHARE * took);
  };

  let words = null;
  let zone; // the viewer's, which need not be that of the browser
  const mark = document.createElement("p");
  mark.className = "pst-connection pst-watch";
  mark.setAttribute("role", "status");

  const hear = (frame) => {
    words = frame.words || words;
    zone = frame.zone || zone;
    isDue = true;
    refresh();
  };

  const say = (state, shown) => {
    if (words === null) return; // before the first message nothing was promised
    const text = state === "lost" ? window.posternShowing(words.lost, shown, zone) : words[state];
    mark.dataset.state = state;
    if (mark.textContent !== text) mark.textContent = text;
    if (!mark.isConnected) document.querySelector(".pst-languages")?.before(mark);
  };

  const query = () => {
    rows = findRows().join(",");
    return `?watch=${kind}&rows=${rows.split(",").map(encodeURIComponent).join(",")}`;
  };

  const begin = () => {
    line = window.posternSocket({ query, shown: new Date(), hear, say });
    setInterval(refresh, 500);
  };

  if (document.readyState === "loading") addEventListener("DOMContentLoaded", begin);
  else begin();
})();
