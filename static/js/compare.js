// Comparing jobs: the value of every curve under the pointer, or at a place that arrow keys move to. The page works without it.
"use strict";

(() => {
  // The same as `number` of jobs/web/job/charts.py.
  function number(value) {
    const size = Math.abs(value);
    if (size !== 0 && (size >= 1e7 || size < 1e-4)) return value.toExponential(2);
    if (Number.isInteger(value)) return value.toLocaleString("en");
    return size >= 1000 ? value.toLocaleString("en", { maximumFractionDigits: 1 }) : String(Number(value.toPrecision(4)));
  }

  // `40 s`, `2:05`, `3:20:00`
  function duration(seconds) {
    const whole = Math.floor(seconds);
    const two = (value) => String(value).padStart(2, "0");
    if (seconds < 60) return `${Number(seconds.toFixed(1))} s`;
    if (whole < 3600) return `${Math.floor(whole / 60)}:${two(whole % 60)}`;
    return `${Math.floor(whole / 3600)}:${two(Math.floor((whole % 3600) / 60))}:${two(whole % 60)}`;
  }

  function nearest(list, x) {
    let low = 0;
    let high = list.length - 1;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (list[middle][0] < x) low = middle + 1;
      else high = middle;
    }
    return list[low > 0 && x - list[low - 1][0] < list[low][0] - x ? low - 1 : low];
  }

  class Readout {
    constructor(figure) {
      this.figure = figure;
      this.box = figure.querySelector(".compare-svg");
      this.cursor = figure.querySelector(".compare-cursor");
      this.title = figure.querySelector("[data-where]");
      this.at = 1;
      this.curves = null;
      const { left, right, low, high, pad, log, axis } = figure.dataset;
      Object.assign(this, { left: +left, right: +right, low: +low, high: +high, pad: +pad, log: log === "log", axis });
      this.box.addEventListener("pointermove", (event) => {
        const place = this.box.getBoundingClientRect();
        this.show((event.clientX - place.left) / place.width);
      });
      this.box.addEventListener("pointerleave", () => this.hide());
      figure.addEventListener("keydown", (event) => this.key(event));
      figure.addEventListener("blur", () => this.hide());
    }

    key(event) {
      const step = event.shiftKey ? 0.1 : 0.01;
      const next = { ArrowLeft: this.at - step, ArrowRight: this.at + step, Home: 0, End: 1 }[event.key];
      if (event.key === "Escape") this.hide();
      if (next === undefined || event.ctrlKey || event.metaKey || event.altKey) return;
      event.preventDefault();
      this.show(next);
    }

    async load() {
      this.curves = [];
      const answer = await fetch(this.figure.dataset.values, { headers: { Accept: "application/json" } });
      if (!answer.ok) return;
      const { items } = await answer.json();
      this.curves = items.map((item) => {
        const x = { step: (p) => p[2], time: (p) => p[0], relative: (p) => p[0] - item.began }[this.axis];
        const list = item.points.map((p) => [x(p), p[1]]).filter((p) => p[0] !== null && (!this.log || p[1] > 0));
        return this.axis === "step" ? list.sort((a, b) => a[0] - b[0]) : list;
      });
    }

    async show(place) {
      this.at = Math.min(Math.max(place, 0), 1);
      const asked = (this.asked = {}); // only the newest wish is carried out
      if (this.curves === null) await (this.loading ??= this.load());
      else if (this.loading) await this.loading;
      if (asked !== this.asked || !this.figure.isConnected) return;
      const x = this.left + this.at * (this.right - this.left);
      for (const [name, value] of [["x1", this.at], ["x2", this.at]]) this.cursor.setAttribute(name, `${100 * value}%`);
      this.cursor.removeAttribute("visibility");
      this.title.textContent = { step: () => `step ${number(Math.round(x))}`, time: () => `${new Date(x * 1000).toISOString().slice(0, 19).replace("T", " ")} UTC`, relative: () => `after ${duration(Math.max(x, 0))}` }[this.axis]();
      this.curves.forEach((list, index) => {
        if (list.length) this.point(index, ...nearest(list, x));
      });
    }

    point(index, x, value) {
      const said = document.querySelector(`.compare-legend [data-series="${index}"] [data-said]`);
      if (said) {
        said.dataset.newest ??= said.textContent;
        said.textContent = number(value);
      }
      const dot = this.figure.querySelector(`circle[data-series="${index}"]`);
      if (!dot) return;
      dot.dataset.home ??= `${dot.getAttribute("cx")} ${dot.getAttribute("cy")}`;
      const y = this.pad + ((this.high - (this.log ? Math.log10(value) : value)) / (this.high - this.low)) * (1 - 2 * this.pad);
      dot.setAttribute("cx", `${(100 * (x - this.left)) / (this.right - this.left)}%`);
      dot.setAttribute("cy", `${100 * y}%`);
    }

    hide() {
      this.asked = null;
      this.cursor.setAttribute("visibility", "hidden");
      this.title.textContent = this.title.dataset.where;
      for (const said of document.querySelectorAll("[data-newest]")) said.textContent = said.dataset.newest;
      for (const dot of this.figure.querySelectorAll("[data-home]")) {
        const [x, y] = dot.dataset.home.split(" ");
        dot.setAttribute("cx", x);
        dot.setAttribute("cy", y);
      }
    }
  }

  function start() {
    const figure = document.querySelector("[data-values]:not([data-on])");
    if (!figure) return;
    figure.dataset.on = "";
    new Readout(figure);
  }

  start();
  document.addEventListener("htmx:afterSettle", start);
})();
