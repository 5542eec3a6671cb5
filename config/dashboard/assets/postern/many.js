"use strict";

// Carries out a confirmed action over many rows batch by batch, under a bar. What a batch has done stays done.
(() => {
  const form = document.querySelector("form[data-many]");
  if (!form) return;
  const box = form.querySelector(".pst-progress");
  const bar = box.querySelector("progress");
  const line = box.querySelector("p");
  const number = new Intl.NumberFormat(document.documentElement.lang);

  const show = (words, seen) => {
    bar.value = seen;
    line.textContent = words.replace("SEEN", number.format(seen)).replace("TOTAL", number.format(bar.max));
  };

  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const body = new FormData(form);
    box.hidden = false;
    form.querySelector(".pst-buttons").hidden = true;
    window.addEventListener("beforeunload", warn);
    show(box.dataset.running, 0);
    for (let step = { is_over: false, seen: 0 }; !step.is_over;) {
      let answer;
      try {
        answer = await fetch(location.href, { method: "POST", body, headers: { Accept: "application/json" } });
        if (!(answer.headers.get("Content-Type") || "").includes("application/json")) throw new Error(answer.status);
        const next = await answer.json();
        if (next.error) return stop(next.error);
        step = next;
      } catch {
        return stop(box.dataset.failed);
      }
      for (const name of ["after", "seen", "done", "left_out"]) body.set(name, step[name]);
      show(box.dataset.running, step.seen);
    }
    window.removeEventListener("beforeunload", warn);
    location.assign(form.dataset.many);
  });

  function warn(event) {
    event.preventDefault();
  }

  function stop(words) {
    window.removeEventListener("beforeunload", warn);
    show(words, bar.value);
    form.querySelector(".pst-buttons").hidden = false;
  }
})();
