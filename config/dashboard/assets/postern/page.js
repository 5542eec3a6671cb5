// What every page of the admin needs and its theme lacks: the browser's time zone for the server, and for the keyboard and
// for screen readers the controls that the theme makes of plain text. They work by script alone, so a script is enough.
(() => {
  "use strict";

  const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
  if (zone) {
    const secure = location.protocol === "https:" ? "; secure" : "";
    document.cookie = `time_zone=${encodeURIComponent(zone)}; path=/admin/; max-age=31536000; samesite=lax${secure}`;
  }

  const ICON = ".material-symbols-outlined";
  const PRESSED = "[x-on\\:click]:not(a[href], button, input, select, textarea, label)";

  // The words of an element without its icons, which are letters of a font.
  function wordsOf(element) {
    const copy = element.cloneNode(true);
    copy.querySelectorAll(ICON).forEach((icon) => icon.remove());
    return element.matches(ICON) ? "" : copy.textContent.trim();
  }

  function nameOf(element) {
    const input = element.matches("button") && element.parentElement.querySelector("input");
    const said = element.title || element.closest("[data-label]")?.dataset.label || (input && input.placeholder);
    return said || nameByIcon(element.textContent);
  }

  // The names are translated where every page has them: beside the language.
  function nameByIcon(icon) {
    const names = document.getElementById("control-names")?.dataset || {};
    if (icon.includes("visibility")) return names.password;
    return /(dark_mode|light_mode|computer)/.test(icon) ? names.theme : names.more;
  }

  // What select2 draws stands beside the field that has the label.
  function labelChoice(drawn) {
    const field = drawn.previousElementSibling;
    const label = field?.id && document.querySelector(`label[for="${CSS.escape(field.id)}"]`)?.textContent.trim();
    for (const part of drawn.querySelectorAll(".select2-selection, .select2-search__field, [role=textbox]")) {
      if (label) part.setAttribute("aria-label", label);
    }
    for (const list of drawn.querySelectorAll("ul.select2-selection__rendered")) {
      list.setAttribute("role", "group");
      for (const item of list.children) item.setAttribute("role", "none");
    }
  }

  function mend(root) {
    const all = (selector) => [...(root.matches?.(selector) ? [root] : []), ...root.querySelectorAll(selector)];
    for (const control of all(PRESSED)) {
      if (!control.textContent.trim() && !control.children.length) continue; // the shade behind a sheet
      control.setAttribute("role", "button");
      control.tabIndex = 0;
    }
    for (const control of all("a[href], button, [role=button]")) {
      if (!control.matches(ICON) && !control.querySelector(ICON)) continue; // its words may still be on their way
      if (!control.getAttribute("aria-label") && !wordsOf(control) && !control.querySelector("img[alt]:not([alt=''])")) {
        const name = nameOf(control);
        if (name) control.setAttribute("aria-label", name);
      }
    }
    for (const drawn of all(".select2-container")) labelChoice(drawn);
    // What scrolls must be scrolled by keys too.
    for (const part of all(".pst-scroll, .pst-content")) part.tabIndex = 0;
    for (const icon of all(ICON)) if (icon.getAttribute("role") !== "button") icon.setAttribute("aria-hidden", "true");
  }

  document.addEventListener("keydown", (event) => {
    const control = event.target;
    if ((event.key === "Enter" || event.key === " ") && control.matches?.("[role=button]:not(a[href], button)")) {
      event.preventDefault();
      control.click();
    }
  });

  // A sheet that opens is where the keyboard goes next.
  document.addEventListener("click", (event) => {
    const opener = event.target.closest?.("[x-on\\:click*='filterOpen = true']");
    if (opener) setTimeout(() => document.querySelector("#changelist-filter :is(input, select, a[href], button)")?.focus());
  });

  document.addEventListener("DOMContentLoaded", () => {
    document.getElementById("main")?.setAttribute("role", "main");
    document.getElementById("content")?.setAttribute("tabindex", "-1");
    mend(document.body);
    new MutationObserver((changes) => {
      for (const change of changes) {
        for (const node of change.addedNodes) if (node.nodeType === 1) mend(node);
        const drawn = change.addedNodes.length && change.target.closest?.(".select2-container");
        if (drawn) labelChoice(drawn);
      }
    }).observe(document.body, { childList: true, subtree: true });
  });
})();
