// Log viewer: a virtual list of pages of rows. The server has already put the last rows into [data-log-rows]; without this file they stay.
//
// <section data-log data-job="ID" data-rows="…/logs/rows" data-tail="…/logs/tail" data-search="…/logs/search" data-query="ranks=0,1">
//   buttons [data-log-follow] [data-log-times] [data-log-wrap], <input type="search" data-log-find>, buttons [data-log-prev] [data-log-next],
//   [data-log-found] and [data-log-state] (role=status), <div data-log-rows role="log" tabindex="0" aria-label="…">
// data-search is optional: without it the loaded rows are searched. JSON: jobs/logs/window.py and jobs/logs/find.py.
// New rows are announced by `trainui:log` {job, stream, lines} on document, or by `log-appended` of events.js; `resync` asks again.

import { Finder } from "./log-find.js";
import { PAGE, Pages } from "./log-pages.js";
import { rowElement } from "./log-row.js";

const LIVE = 500; // rows of the live tail before they become pages
const PATIENT = 2000; // rows of the live tail that wait for a reader who does not follow
const PATIENCE = 100; // milliseconds between two requests for news

class LogView extends Pages {
  constructor(root) {
    super(root);
    Object.assign(this, { cursor: "", counted: {}, failed: 0, following: root.dataset.follow !== "off" });
    this.live = document.createElement("div"); // rows that have no position yet
    this.finder = new Finder(this);
    this.listen();
    this.toEnd();
  }

  async get(address, parameters) {
    const query = new URLSearchParams(this.root.dataset.query || "");
    for (const [name, value] of Object.entries(parameters)) query.set(name, value);
    const answer = await fetch(`${address}?${query}`, { headers: { Accept: "application/json" } });
    if (answer.ok) return answer.json();
    const problem = await answer.json().catch(() => ({}));
    throw new Error(problem.detail || problem.title || `the server answered ${answer.status}`);
  }

  say(text) {
    const state = this.root.querySelector("[data-log-state]");
    if (state && state.textContent !== text) state.textContent = text;
  }

  // --- the end of the log -----------------------------------------------------------------------------------------------
  // Take the present state: positions are counted anew, and the last rows are shown.
  async toEnd() {
    const round = ++this.round;
    try {
      const end = await this.get(this.root.dataset.rows, { start: -2 * PAGE, count: 2 * PAGE });
      if (round !== this.round) return;
      const { total, at, counted, complete } = end;
      Object.assign(this, { total, at, counted, complete, cursor: at, behind: false });
      for (const map of [this.pages, this.heights, this.loading, this.byId]) map.clear();
      this.live.replaceChildren();
      this.box.replaceChildren(this.above, this.below, this.live);
      for (let page = Math.max(0, this.count - 2); page < this.count; page++) {
        const rows = end.rows.filter((row) => Math.floor(row.n / PAGE) === page);
        if (rows.length === Math.min(PAGE, total - page * PAGE)) this.put(page, rows);
      }
      this.layout();
      this.down();
      this.say(total ? "" : complete ? "The log is empty." : "Nothing has been written yet.");
      await this.fill();
      this.root.dataset.ready = "";
      this.news();
    } catch (error) {
      this.say(`The log cannot be loaded now: ${error.message}`);
      setTimeout(() => round === this.round && this.root.isConnected && this.toEnd(), 3000);
    }
  }

  // Fetch what came since the cursor: one request at a time, and another one if something came meanwhile.
  async news() {
    this.again = true;
    if (this.asking || this.behind || !("ready" in this.root.dataset)) return;
    this.asking = true;
    await this.ask();
    this.asking = false;
    this.failed = 0;
  }

  async ask() {
    while (this.again && this.failed < 6) {
      this.again = false;
      const round = this.round;
      try {
        const tail = await this.get(this.root.dataset.tail, { cursor: this.cursor });
        this.failed = 0;
        this.behind = tail.reset || this.live.childElementCount > PATIENT;
        if (round !== this.round) this.again = true;
        else if (!this.behind) this.add(tail);
        else if (this.following) await this.toEnd();
        else return this.say("Much was written meanwhile; Follow shows it.");
      } catch {
        this.failed++;
        this.again = true;
      }
      await new Promise((done) => setTimeout(done, PATIENCE * 2 ** this.failed));
    }
  }

  add(tail) {
    this.cursor = tail.cursor;
    const fresh = [];
    for (const row of tail.rows) {
      const [source, number] = row.id.split(".");
      const old = this.byId.get(row.id);
      // a row that has a position but is not there comes with its page
      if (!old && Number(number) < (this.counted[source] || 0)) continue;
      const element = rowElement({ ...row, n: old?.dataset.n }, this.root.dataset.rows);
      this.byId.set(row.id, element);
      if (old) old.replaceWith(element);
      else fresh.push(element);
    }
    this.box.setAttribute("aria-live", this.following && fresh.length < 5 ? "polite" : "off");
    this.live.append(...fresh);
    if (fresh.length) this.say("");
    if (this.following && this.live.childElementCount > LIVE && !this.selecting()) this.toEnd();
    else this.down();
  }

  down() {
    if (this.following && !this.selecting()) this.box.scrollTop = this.box.scrollHeight;
  }

  follow(on) {
    if (this.following === on) return;
    this.following = on;
    this.root.querySelector("[data-log-follow]")?.setAttribute("aria-pressed", on);
    if (on && this.behind) this.toEnd();
    else this.down();
  }

  // Bring a position into view.
  async show(position) {
    this.follow(false);
    const page = Math.floor(position / PAGE);
    this.box.scrollTop = this.sum(0, page) + ((position % PAGE) / PAGE) * this.height(page) - this.box.clientHeight / 2;
    await this.fill();
    this.box.querySelector(`[data-n="${position}"]`)?.scrollIntoView({ block: "center" });
  }

  selecting() {
    const selection = getSelection();
    return !selection.isCollapsed && this.box.contains(selection.anchorNode);
  }

  // --- the reader -------------------------------------------------------------------------------------------------------
  listen() {
    const button = (name, act) => this.root.querySelector(`[data-log-${name}]`)?.addEventListener("click", act);
    button("follow", () => this.follow(!this.following));
    for (const name of ["times", "wrap"]) {
      button(name, (event) => {
        const on = this.root.classList.toggle(`log-${name}`);
        event.currentTarget.setAttribute("aria-pressed", on);
        this.heights.clear();
        this.layout();
        this.down();
      });
    }
    let last = 0;
    this.box.addEventListener("scroll", () => {
      const up = this.box.scrollTop < last;
      last = this.box.scrollTop;
      const end = this.box.scrollHeight - this.box.clientHeight - last < 4;
      if (up && !end) this.follow(false);
      else if (end && !up && this.pages.has(this.count - 1) && !this.loading.size) this.follow(true);
      this.timer ??= setTimeout(() => {
        this.timer = null;
        this.fill();
      }, 50);
    });
    new ResizeObserver(() => this.steady(() => this.fill())).observe(this.box);
    this.box.addEventListener("keydown", (event) => {
      if (event.target !== this.box) return;
      if (event.key === "Home") this.show(0);
      else if (event.key === "End") this.follow(true);
      else if (event.key === "f" && !event.ctrlKey && !event.metaKey && !event.altKey) this.follow(!this.following);
    });
    const heard = ({ detail }) => {
      const job = detail?.job || detail?.subject;
      if (this.root.isConnected && !document.hidden && (!job || job === this.root.dataset.job)) this.news();
    };
    for (const name of ["trainui:log", "log-appended", "resync", "visibilitychange"]) document.addEventListener(name, heard);
  }
}

function start(scope) {
  for (const root of scope.querySelectorAll("[data-log]:not([data-log-on])")) {
    root.dataset.logOn = "";
    new LogView(root);
  }
}
start(document);
document.addEventListener("htmx:load", () => start(document));
