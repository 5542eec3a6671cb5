"use strict";

// Sends dead letters again, step after step. How far it came is kept for this tab, so that a reload goes on.
(() => {
  const KEPT = "postern-resending";
  const box = document.getElementById("resending");
  const bar = box.querySelector("progress");
  const line = box.querySelector("p");
  const forms = [...document.querySelectorAll("form[data-resend]")];

  const show = (run, words) => {
    box.hidden = false;
    bar.max = Math.max(run.total, 1);
    bar.value = Math.min(run.resent + run.skipped, bar.max);
    line.textContent = words.replace(/%\((\w+)\)s/g, (_, name) => run[name]);
  };

  const step = async (run) => {
    const body = new FormData();
    body.set("csrfmiddlewaretoken", document.querySelector("[name=csrfmiddlewaretoken]").value);
    body.set("endpoint", run.endpoint);
    body.set("after", run.after);
    const answer = await fetch(location.pathname, { method: "POST", body, headers: { Accept: "application/json" } });
    if (!answer.ok) throw new Error(answer.status);
    return answer.json();
  };

  const resend = async (run) => {
    forms.forEach((form) => { form.hidden = true; });
    try {
      for (let left = 1; left > 0;) {
        show(run, box.dataset.running);
        const made = await step(run);
        left = made.left;
        run.after = made.after;
        run.skipped += made.skipped;
        // What a step did whose answer a reload has cut off is known by what is left.
        run.resent = Math.max(run.resent + made.resent, run.total - left - run.skipped);
        run.total = run.resent + run.skipped + left;
        sessionStorage.setItem(KEPT, JSON.stringify(run));
      }
      const form = new Intl.PluralRules(document.documentElement.lang || "en").select(run.resent);
      show(run, box.dataset[{ one: "doneOne", few: "doneFew" }[form] || "doneMany"]);
      document.querySelectorAll("[data-before]").forEach((stale) => { stale.hidden = true; });
    } catch {
      show(run, box.dataset.failed);
      forms.forEach((form) => { form.hidden = false; });
    }
    sessionStorage.removeItem(KEPT);
  };

  forms.forEach((form) => form.addEventListener("submit", (event) => {
    event.preventDefault();
    const endpoint = form.elements.endpoint ? form.elements.endpoint.value : "";
    const run = { endpoint, after: 0, resent: 0, skipped: 0, total: Number(form.dataset.total) };
    sessionStorage.setItem(KEPT, JSON.stringify(run));
    resend(run);
  }));

  const kept = JSON.parse(sessionStorage.getItem(KEPT));
  if (kept && forms.length) resend(kept);
})();
