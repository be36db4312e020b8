// The jobs list: announces new jobs, keys to move and choose, and how many are chosen. The list works without it.
"use strict";

(() => {
  const PAUSE = 2000;
  const root = document.querySelector("[data-jobs]");
  if (!root) return;

  // Rows fetch themselves; counts and the announcement of new jobs are fetched once per pause, however much happens.
  let timer = 0;
  let again = false;

  function stale() {
    again = true;
    if (timer) return;
    again = false;
    document.body.dispatchEvent(new CustomEvent("jobs-stale", { bubbles: true, detail: { stream: true } }));
    timer = setTimeout(() => {
      timer = 0;
      if (again) stale();
    }, PAUSE);
  }
  document.addEventListener("job-changed", stale);

  // A job that was deleted answers 404: its row stays where it is, crossed out.
  document.addEventListener("htmx:responseError", (event) => {
    const row = event.detail.target;
    if (event.detail.xhr.status !== 404 || !row.matches("tr[data-job]")) return;
    row.classList.add("gone");
    row.querySelector('[name="job"]')?.remove();
  });

  const picks = () => [...root.querySelectorAll('[name="job"]:not(:disabled)')];

  function count() {
    const all = picks();
    const chosen = all.filter((pick) => pick.checked).length;
    const said = root.querySelector("[data-picked]");
    if (said) said.textContent = chosen === 1 ? "1 job" : `${chosen} jobs`;
    const head = root.querySelector("[data-pick-all]");
    if (!head) return;
    head.checked = chosen > 0 && chosen === all.length;
    head.indeterminate = chosen > 0 && chosen < all.length;
    head.disabled = all.length === 0;
  }

  root.addEventListener("change", (event) => {
    if (event.target.matches("[data-pick-all]")) for (const pick of picks()) pick.checked = event.target.checked;
    count();
  });
  document.addEventListener("htmx:afterSettle", count);
  addEventListener("pageshow", count); // the browser may have kept what was checked
  count();

  // What is not chosen does not clutter the address.
  document.querySelector(".list-filters")?.addEventListener("formdata", (event) => {
    for (const [name, value] of [...event.formData]) if (value === "") event.formData.delete(name);
  });

  let afterG = 0;
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input:not([type=checkbox]), textarea, select, [popover]")) return;
    const chord = event.timeStamp - afterG < 1200;
    afterG = event.key === "g" ? event.timeStamp : 0;
    if (chord || !["j", "k", "x"].includes(event.key)) return;
    const links = [...root.querySelectorAll("[data-row-link]")];
    const row = document.activeElement?.closest("tr[data-job]");
    const at = links.findIndex((link) => row?.contains(link));
    if (event.key === "x") {
      const pick = row?.querySelector('[name="job"]:not(:disabled)');
      if (!pick) return;
      pick.checked = !pick.checked;
      count();
    } else {
      const next = links[at < 0 ? 0 : Math.min(Math.max(at + (event.key === "j" ? 1 : -1), 0), links.length - 1)];
      next?.focus();
      next?.scrollIntoView({ block: "nearest" });
    }
    event.preventDefault();
  });
})();
