"use strict";

// Copies the text of the element that a button names. The clipboard interface exists only on https and localhost.
document.querySelectorAll("[data-copy]").forEach((button) => {
  const source = document.getElementById(button.dataset.copy);

  button.addEventListener("click", async () => {
    if (navigator.clipboard) {
      await navigator.clipboard.writeText(source.textContent);
    } else {
      window.getSelection().selectAllChildren(source);
      document.execCommand("copy");
    }
    button.querySelector("[data-label]").textContent = button.dataset.done;
  });
});
