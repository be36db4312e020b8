// Charts of metrics: the server has drawn a line already; uPlot takes its place, and new points are appended as they come.
//
// <div data-charts data-job="ID" data-series="…/metrics/series" data-points="…/metrics/points">
//   <output data-chart-said> <figure data-chart="loss" tabindex="0"> <svg> … </figure> <span data-chart-range> …
// A metric without a figure raises the event `new-metric` on <body>: the page then fetches its charts again.
"use strict";

(() => {
  const MOST_POINTS = 8000; // in one chart; then the server's thinned series takes their place
  const PAUSE = 1000;
  // seconds between two marks of the axis
  const STEPS = [0.001, 0.01, 0.1, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 43200, 86400, 172800, 604800, 2592000];
  const palette = {};

  // Canvas understands no light-dark(): the colours are read from an element that has them.
  function readPalette() {
    const probe = document.createElement("span");
    document.body.append(probe);
    for (const name of ["line", "area", "grid", "ink"]) {
      probe.className = `chart-colour-${name}`;
      palette[name] = getComputedStyle(probe).color;
    }
    probe.remove();
  }

  // `40 s`, `2:05`, `3:20:00`
  function duration(seconds) {
    const whole = Math.floor(seconds);
    const two = (value) => String(value).padStart(2, "0");
    if (seconds < 60) return `${Number(seconds.toFixed(1))} s`;
    if (whole < 3600) return `${Math.floor(whole / 60)}:${two(whole % 60)}`;
    return `${Math.floor(whole / 3600)}:${two(Math.floor((whole % 3600) / 60))}:${two(whole % 60)}`;
  }

  // The same as `number` of jobs/web/job/charts.py.
  function number(value) {
    if (value === null || value === undefined) return "—";
    const size = Math.abs(value);
    if (size !== 0 && (size >= 1e7 || size < 1e-4)) return value.toExponential(2).replace(/\.?0+e/, "e");
    if (Number.isInteger(value)) return value.toLocaleString("en");
    return size >= 1000 ? value.toLocaleString("en", { maximumFractionDigits: 1 }) : String(Number(value.toPrecision(4)));
  }

  class Chart {
    constructor(figure) {
      this.figure = figure;
      this.name = figure.dataset.chart;
      this.said = figure.parentElement.querySelector("[data-chart-said]");
      this.range = figure.parentElement.querySelector("[data-chart-range]");
      this.start = 0;
      this.data = [[], []];
      this.low = Infinity;
      this.high = -Infinity;
    }

    load(times, values) {
      this.start = times[0] ?? 0;
      this.data = [times.map((time) => time - this.start), [...values]];
      this.span(values);
      if (this.plot) this.plot.setData(this.data);
      else this.draw();
    }

    append(points) {
      for (const [time, value] of points) {
        const x = time - this.start;
        const last = this.data[0].length - 1;
        if (last >= 0 && x < this.data[0][last]) continue; // a late one: it is there when the page is loaded again
        this.data[0].push(x);
        this.data[1].push(value);
        this.span([value]);
      }
      this.plot.setData(this.data);
    }

    span(values) {
      for (const value of values) {
        this.low = Math.min(this.low, value);
        this.high = Math.max(this.high, value);
      }
      if (this.range && this.low <= this.high) this.range.textContent = `from ${number(this.low)} to ${number(this.high)}`;
    }

    get full() {
      return this.data[0].length > MOST_POINTS;
    }

    draw() {
      const axis = {
        stroke: () => palette.ink,
        grid: { stroke: () => palette.grid, width: 1 },
        ticks: { show: false },
        font: `11px ${getComputedStyle(this.figure).fontFamily}`,
      };
      this.figure.dataset.ready = "";
      this.plot = new uPlot(
        {
          width: this.figure.clientWidth,
          height: 208,
          cursor: { y: false, points: { size: 7 } },
          legend: { show: false },
          hooks: { setCursor: [() => this.say()], setData: [() => this.say()] },
          scales: { x: { time: false } },
          axes: [
            { ...axis, size: 28, space: 64, incrs: STEPS, values: (_, ticks) => ticks.map(duration) },
            { ...axis, size: 56, values: (_, ticks) => ticks.map(number) },
          ],
          series: [
            {},
            { label: this.name, stroke: () => palette.line, fill: () => palette.area, width: 2, points: { size: 5 } },
          ],
        },
        this.data,
        this.figure,
      );
      this.resized = new ResizeObserver(() => this.plot.setSize({ width: this.figure.clientWidth, height: 208 }));
      this.resized.observe(this.figure);
      this.figure.addEventListener("keydown", (event) => this.key(event));
    }

    key(event) {
      const last = this.data[0].length - 1;
      const at = this.plot.cursor.idx ?? last;
      const step = event.shiftKey ? 10 : 1;
      const next = { ArrowLeft: at - step, ArrowRight: at + step, Home: 0, End: last }[event.key];
      if (next === undefined || last < 0 || event.ctrlKey || event.metaKey || event.altKey) return;
      event.preventDefault();
      const index = Math.min(Math.max(next, 0), last);
      this.plot.setCursor({ left: this.plot.valToPos(this.data[0][index], "x"), top: this.plot.valToPos(this.data[1][index], "y") });
    }

    // The value under the cursor, else the newest.
    say() {
      const under = this.plot?.cursor.idx ?? null;
      const index = under ?? this.data[0].length - 1;
      if (!this.said || index < 0) return;
      this.said.querySelector("strong").textContent = number(this.data[1][index]);
      this.said.querySelector("span").textContent = under === null ? "newest" : `after ${duration(this.data[0][index])}`;
    }

    close() {
      this.resized?.disconnect();
      this.plot?.destroy();
    }
  }

  class Charts {
    constructor(root) {
      this.root = root;
      this.after = 0;
      this.busy = false;
      this.again = false;
      this.charts = new Map([...root.querySelectorAll("[data-chart]")].map((figure) => [figure.dataset.chart, new Chart(figure)]));
      this.whole = true; // ask for whole series next
      this.fetch();
    }

    async fetch() {
      if (this.busy) {
        this.again = true;
        return;
      }
      this.busy = true;
      this.again = false;
      try {
        await (this.whole ? this.series() : this.points());
      } catch {
        // the next change asks again
      }
      setTimeout(() => {
        this.busy = false;
        if (this.again) this.fetch();
      }, PAUSE);
    }

    async series() {
      const found = await this.get(this.root.dataset.series);
      this.after = found.after;
      this.whole = false;
      for (const [name, [times, values]] of Object.entries(found.series)) this.charts.get(name)?.load(times, values);
    }

    async points() {
      const found = await this.get(`${this.root.dataset.points}?after=${this.after}`);
      this.after = found.after;
      this.again ||= found.more;
      let unknown = false;
      for (const [name, points] of Object.entries(found.points)) {
        const chart = this.charts.get(name);
        if (!chart?.plot) unknown = true;
        else chart.append(points);
      }
      this.whole = [...this.charts.values()].some((chart) => chart.full);
      if (unknown) document.body.dispatchEvent(new CustomEvent("new-metric", { bubbles: true, detail: { stream: true } }));
    }

    async get(url) {
      const answer = await fetch(url, { headers: { Accept: "application/json" } });
      if (!answer.ok) throw new Error(String(answer.status));
      return answer.json();
    }

    close() {
      for (const chart of this.charts.values()) chart.close();
    }
  }

  let shown = [];

  function start() {
    shown = shown.filter((charts) => charts.root.isConnected || charts.close());
    for (const root of document.querySelectorAll("[data-charts]:not([data-charts-on])")) {
      root.dataset.chartsOn = "";
      shown.push(new Charts(root));
    }
  }

  function recolour() {
    readPalette();
    for (const charts of shown) for (const chart of charts.charts.values()) chart.plot?.redraw(false, true);
  }

  if (!window.uPlot) return; // the lines that the server drew stay
  readPalette();
  start();
  document.addEventListener("htmx:afterSettle", start);
  document.addEventListener("metrics-changed", (event) => {
    for (const charts of shown) if (charts.root.dataset.job === event.detail.subject) charts.fetch();
  });
  document.addEventListener("resync", () => {
    for (const charts of shown) charts.fetch();
  });
  new MutationObserver(recolour).observe(document.documentElement, { attributes: true, attributeFilter: ["data-theme"] });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", recolour);
})();
