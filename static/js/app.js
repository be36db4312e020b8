// Small things that make pages nicer; every page works without this file.
"use strict";

document.documentElement.classList.add("js");

// --- theme: system, light, dark, kept in a cookie so that the server renders it at once -------------------------------
const THEMES = ["system", "light", "dark"];

document.addEventListener("submit", (event) => {
  const form = event.target;
  if (!form.matches("[data-theme-toggle]")) return;
  event.preventDefault();
  const root = document.documentElement;
  const next = THEMES[(THEMES.indexOf(root.dataset.theme) + 1) % THEMES.length];
  fetch(form.action, {
    method: "POST",
    headers: { "HX-Request": "true" },
    body: new URLSearchParams([...new FormData(form), ["theme", next]]),
  })
    .then((answer) => (answer.ok ? answer.text() : Promise.reject(new Error(String(answer.status)))))
    .then((html) => {
      root.dataset.theme = next;
      const fresh = new DOMParser().parseFromString(html, "text/html").querySelector("form");
      form.replaceWith(fresh);
      fresh.querySelector("button").focus();
    })
    .catch(() => form.submit());
});

// --- times: the same words as trainui/ui/times.py ---------------------------------------------------------------------
function relative(seconds) {
  const size = Math.abs(seconds);
  if (size < 2) return "just now";
  const [, unit, name] = [[90, 1, "s"], [5400, 60, "min"], [129600, 3600, "h"], [Infinity, 86400, "d"]].find(([limit]) => size < limit);
  return seconds > 0 ? `${Math.floor(size / unit)} ${name} ago` : `in ${Math.ceil(size / unit)} ${name}`;
}

function duration(seconds) {
  const whole = Math.max(0, Math.floor(seconds));
  const two = (number) => String(number).padStart(2, "0");
  if (whole < 60) return `${whole} s`;
  if (whole < 3600) return `${Math.floor(whole / 60)} min ${two(whole % 60)} s`;
  if (whole < 86400) return `${Math.floor(whole / 3600)} h ${two(Math.floor((whole % 3600) / 60))} min`;
  return `${Math.floor(whole / 86400)} d ${Math.floor((whole % 86400) / 3600)} h`;
}

function refreshTimes() {
  if (document.hidden) return;
  for (const element of document.querySelectorAll("time[data-relative]")) {
    const age = (Date.now() - Date.parse(element.dateTime)) / 1000;
    const text = "elapsed" in element.dataset ? duration(age) : relative(age);
    if (element.textContent !== text) element.textContent = text;
    const holder = element.closest("[data-stale-after]");
    if (holder) holder.classList.toggle("stale", age > Number(holder.dataset.staleAfter));
  }
}
setInterval(refreshTimes, 1000);
document.addEventListener("visibilitychange", refreshTimes);

// --- copy, dismiss, menus ---------------------------------------------------------------------------------------------
document.addEventListener("click", (event) => {
  const target = event.target.closest("[data-copy], [data-dismiss], summary") || event.target;
  for (const menu of document.querySelectorAll("details.menu[open]")) {
    if (!menu.contains(target)) menu.open = false;
  }
  if (target.matches("[data-dismiss]")) {
    const list = target.closest(".messages");
    target.closest(".note").remove();
    if (!list.querySelector(".note")) list.hidden = true;
  }
  if (target.matches("[data-copy]")) copyText(target);
});

document.addEventListener("change", (event) => {
  const form = event.target.form;
  if (form && form.matches("[data-autosubmit]")) form.requestSubmit();
});

function copyText(button) {
  const done = () => {
    button.classList.add("copied");
    button.setAttribute("aria-label", "Copied");
    setTimeout(() => {
      button.classList.remove("copied");
      button.setAttribute("aria-label", button.title);
    }, 1600);
  };
  if (navigator.clipboard) {
    navigator.clipboard.writeText(button.dataset.copy).then(done, () => button.setAttribute("aria-label", "Could not copy"));
    return;
  }
  // Plain http on another host than localhost has no clipboard API.
  const area = document.createElement("textarea");
  area.value = button.dataset.copy;
  button.after(area);
  area.select();
  if (document.execCommand("copy")) done();
  area.remove();
  button.focus();
}

// --- keyboard ---------------------------------------------------------------------------------------------------------
let afterG = 0;

document.addEventListener("keydown", (event) => {
  if (event.key === "Escape") {
    const menu = document.querySelector("details.menu[open]");
    if (menu) {
      menu.open = false;
      menu.querySelector("summary").focus();
    }
  }
  if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input, textarea, select, [contenteditable]")) return;
  const pressedG = event.timeStamp - afterG < 1200;
  afterG = event.key === "g" ? event.timeStamp : 0;
  if (pressedG && /^[a-z]$/.test(event.key)) {
    const link = document.querySelector(`a[data-go="${event.key}"]`);
    if (link) link.click();
  } else if (event.key === "/") {
    const search = document.querySelector("[data-search], input[type=search]");
    if (!search) return;
    event.preventDefault();
    search.focus();
    search.select();
  } else if (event.key === "?") {
    const keys = document.getElementById("keys");
    if (keys) keys.togglePopover();
  }
});

// --- fragments --------------------------------------------------------------------------------------------------------
const shown = new WeakMap(); // element -> ETag of the fragment in it

function isBusy(element) {
  const focused = document.activeElement;
  const typing = focused && focused.matches("input, textarea, select") && element.contains(focused);
  return typing || element.querySelector(":popover-open, details.menu[open]") !== null;
}

document.addEventListener("htmx:beforeSwap", (event) => {
  const { xhr, target, requestConfig } = event.detail;
  const tag = xhr.getResponseHeader("ETag");
  const cause = requestConfig.triggeringEvent;
  const byStream = Boolean(cause && cause.detail && cause.detail.stream);
  // What did not change is not swapped, and a refresh never takes away what somebody is using.
  if (byStream && ((tag && shown.get(target) === tag) || isBusy(target))) event.detail.shouldSwap = false;
  else if (tag) shown.set(target, tag);
});

document.addEventListener("htmx:afterSettle", (event) => {
  refreshTimes();
  const wrong = event.target.querySelector && event.target.querySelector('[aria-invalid="true"]');
  const cause = event.detail.requestConfig && event.detail.requestConfig.triggeringEvent;
  if (wrong && cause && cause.type === "submit") wrong.focus();
});

function say(text) {
  const list = document.getElementById("messages");
  if (!list) return;
  const box = document.createElement("div");
  box.className = "note";
  box.dataset.tone = "error";
  box.textContent = text;
  list.replaceChildren(box);
  list.hidden = false;
}

document.addEventListener("htmx:responseError", (event) => {
  const { xhr, requestConfig } = event.detail;
  if (requestConfig.verb !== "get") say(xhr.status === 403 ? "You may not do that here." : `The server answered ${xhr.status}. Nothing was changed.`);
});

document.addEventListener("htmx:sendError", (event) => {
  if (event.detail.requestConfig.verb !== "get") say("The server cannot be reached. Nothing was sent; try again.");
});
