// Parts of a page that many events concern: <div data-paced="job-changed cluster-changed" hx-trigger="paced"> hears of the first
// at once, then at most every two seconds, and of the last one always.
"use strict";

(() => {
  const PAUSE = 2000;
  const waiting = new WeakMap(); // element -> {again}

  function ring(element) {
    const state = waiting.get(element);
    if (state) {
      state.again = true;
      return;
    }
    waiting.set(element, { again: false });
    element.dispatchEvent(new CustomEvent("paced", { detail: { stream: true } }));
    setTimeout(() => {
      const { again } = waiting.get(element);
      waiting.delete(element);
      if (again && element.isConnected) ring(element);
    }, PAUSE);
  }

  const names = new Set(["resync"]);
  for (const element of document.querySelectorAll("[data-paced]")) for (const name of element.dataset.paced.split(/\s+/)) names.add(name);
  for (const name of names) {
    document.addEventListener(name, () => {
      for (const element of document.querySelectorAll("[data-paced]")) {
        if (name === "resync" || element.dataset.paced.split(/\s+/).includes(name)) ring(element);
      }
    });
  }
})();
