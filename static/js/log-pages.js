// The pages of rows around what is visible; blank space stands for the others. Positions are those of the state `at` of the log.

import { rowElement } from "./log-row.js";

export const PAGE = 250; // rows of a page
const AROUND = 1; // pages kept before and after the visible ones
const TALLEST = 12e6; // browsers draw no element that is much higher than this many pixels

export class Pages {
  constructor(root) {
    this.root = root;
    this.box = root.querySelector("[data-log-rows]");
    Object.assign(this, { total: 0, at: "", round: 0 });
    this.pages = new Map(); // number -> element: the pages that are there, neighbours of each other
    this.heights = new Map(); // of pages that were there once
    this.loading = new Map(); // number -> promise
    this.byId = new Map(); // rows that a redraw may replace
    [this.above, this.below] = [0, 0].map(() => document.createElement("div"));
  }

  get count() {
    return Math.ceil(this.total / PAGE);
  }

  put(page, rows) {
    const element = document.createElement("div");
    element.className = "log-page";
    for (const row of rows) {
      const item = rowElement(row, this.root.dataset.rows);
      this.byId.set(row.id, item);
      element.append(item);
    }
    const before = Math.max(...[...this.pages.keys()].filter((other) => other < page));
    (this.pages.get(before) || this.above).after(element);
    this.pages.set(page, element);
    this.finder.mark();
  }

  drop(page) {
    const element = this.pages.get(page);
    this.heights.set(page, element.offsetHeight);
    for (const item of element.children) this.byId.delete(item.dataset.id);
    element.remove();
    this.pages.delete(page);
  }

  height(page) {
    const shown = this.pages.get(page)?.offsetHeight ?? this.heights.get(page);
    return shown ?? Math.min(PAGE, this.total - page * PAGE) * Math.min(this.line, TALLEST / this.total);
  }

  sum(from, to) {
    let all = 0;
    for (let page = from; page < to; page++) all += this.height(page);
    return all;
  }

  // Blank space stands for the pages that are not there.
  layout() {
    this.line = this.box.querySelector(".log-row")?.offsetHeight || 20;
    const there = [...this.pages.keys()];
    this.above.style.height = `${this.sum(0, Math.min(this.count, ...there))}px`;
    this.below.style.height = `${there.length ? this.sum(Math.max(...there) + 1, this.count) : 0}px`;
  }

  pageAt(y) {
    let page = 0;
    for (let end = this.height(0); page < this.count - 1 && end <= y; end += this.height(page)) page++;
    return page;
  }

  // Load the pages around what is visible and drop the others.
  async fill() {
    if (!this.total || !this.box.clientHeight) return;
    const low = Math.max(0, this.pageAt(this.box.scrollTop) - AROUND);
    const high = Math.min(this.count - 1, this.pageAt(this.box.scrollTop + this.box.clientHeight) + AROUND);
    const far = [...this.pages.keys()].filter((page) => page < low || page > high);
    if (far.length && !this.selecting()) this.steady(() => far.forEach((page) => this.drop(page)));
    for (let page = low; page <= high; page++) {
      if (!this.pages.has(page) && !this.loading.has(page)) this.loading.set(page, this.load(page, this.round));
    }
    await Promise.all(this.loading.values());
  }

  async load(page, round) {
    try {
      const part = await this.get(this.root.dataset.rows, { start: page * PAGE, count: PAGE, at: this.at });
      if (round === this.round && !this.pages.has(page)) this.steady(() => this.put(page, part.rows));
    } catch (error) {
      this.say(`These rows cannot be loaded now: ${error.message}`);
    }
    if (round === this.round) this.loading.delete(page);
  }

  // Change pages, whose heights were guessed, and keep the row that is being read where it is.
  steady(change) {
    const [box, rows] = [this.box.getBoundingClientRect(), [...this.box.querySelectorAll(".log-row")]];
    const read = rows.find((row) => row.getBoundingClientRect().bottom > box.top);
    const before = read?.getBoundingClientRect().top;
    change();
    this.layout();
    if (this.following) this.down();
    else if (read?.isConnected && before < box.bottom) {
      const moved = read.getBoundingClientRect().top - before;
      if (Math.abs(moved) >= 1) this.box.scrollTop += moved; // setting it at all ends a smooth scroll
    }
  }
}
