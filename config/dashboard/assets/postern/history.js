"use strict";

// The chart of a history: a part of it is chosen with the pointer; the arrows, plus and minus take the ways that the
// links beside it name. Without this script the links do the same.
const watchHistory = (card) => {
  const drawing = card.querySelector("[data-drawing]");
  const from = Number(card.dataset.from);
  const to = Number(card.dataset.to);

  const show = (start, end) => {
    const asked = new URLSearchParams(window.location.search);
    ["period", "cursor", "format"].forEach((name) => asked.delete(name));
    asked.set("from", new Date(start * 1000).toISOString());
    asked.set("to", new Date(end * 1000).toISOString());
    window.location.assign(`?${asked}#history`);
  };

  card.addEventListener("keydown", (event) => {
    const isTyping = event.target.closest("input, textarea, select");
    const isInTable = event.target.closest(".pst-scroll") && event.key.startsWith("Arrow");
    if (isTyping || isInTable || event.ctrlKey || event.metaKey || event.altKey) {
      return;
    }
    const key = event.key === "=" ? "+" : event.key;
    const way = Array.from(card.querySelectorAll("[data-key]")).find((link) => link.dataset.key === key);
    if (way) {
      event.preventDefault();
      way.click();
    }
  });

  if (!drawing) {
    return;
  }
  let begun = null;
  const mark = document.createElement("div");
  mark.className = "pst-drag";
  mark.hidden = true;
  drawing.append(mark);

  const place = (event) => {
    const box = drawing.getBoundingClientRect();
    return Math.min(1, Math.max(0, (event.clientX - box.left) / box.width));
  };

  drawing.addEventListener("pointerdown", (event) => {
    if (event.button === 0 && event.pointerType !== "touch") {
      begun = place(event);
      drawing.setPointerCapture(event.pointerId);
    }
  });
  drawing.addEventListener("pointermove", (event) => {
    if (begun === null) {
      return;
    }
    const now = place(event);
    mark.hidden = false;
    mark.style.left = `${Math.min(begun, now) * 100}%`;
    mark.style.width = `${Math.abs(now - begun) * 100}%`;
  });
  drawing.addEventListener("pointerup", (event) => {
    const [start, end] = [begun, place(event)].sort((one, two) => one - two);
    begun = null;
    mark.hidden = true;
    const length = to - from;
    if (start !== null && (end - start) * length >= 1 && end - start > 0.005) {
      show(from + start * length, from + end * length);
    }
  });
  drawing.addEventListener("pointercancel", () => {
    begun = null;
    mark.hidden = true;
  });
};

// The script stands in the head of the page: what it looks for comes after it.
document.addEventListener("DOMContentLoaded", () => {
  document.querySelectorAll("[data-history]").forEach(watchHistory);
});
