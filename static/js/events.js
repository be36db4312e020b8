// One event stream per visible tab.
//
// The topics are what the data-topics attributes on the page say ("*" or ids, with spaces). An event `job-changed` about
// the job ID is dispatched on <body> as `job-changed` and as `job-changed:ID` with detail {stream: true, id, subject, data},
// so both work:   hx-trigger="job-changed:ID from:body, resync from:body"   and   document.addEventListener("log-appended", …)
// `resync` says that events may have been missed: fetch again. A hidden tab holds no stream.
"use strict";

(() => {
  const NAMES = ["job-changed", "log-appended", "metrics-changed", "events-changed", "runtime-changed", "cluster-changed"];
  const FIRST_DELAY = 1000;
  const LAST_DELAY = 30000;
  const address = document.body.dataset.events;
  if (!address || !window.EventSource) return;

  let source = null;
  let openTopics = "";
  let lastId = "";
  let delay = FIRST_DELAY;
  let timer = 0;
  let heardAt = 0;

  function wantedTopics() {
    const all = [...document.querySelectorAll("[data-topics]")].flatMap((element) => element.dataset.topics.split(/\s+/));
    return [...new Set(all.filter(Boolean))].sort().join(",");
  }

  function show(state) {
    const box = document.querySelector("[data-live]");
    if (!box) return;
    box.dataset.state = state;
    const words = { open: "Live", connecting: "Connecting…", lost: "Connection lost, trying again", idle: "Not live" };
    const text = box.querySelector(".live-text");
    text.textContent = words[state];
    box.title = words[state];
    if (!heardAt || state !== "open") return;
    const age = document.createElement("time"); // app.js keeps its wording up to date
    age.dataset.relative = "";
    age.dateTime = new Date(heardAt).toISOString();
    age.textContent = "just now";
    text.append(" · ", age);
    box.title = `${words[state]}, last change at ${new Date(heardAt).toLocaleTimeString()}`;
  }

  function dispatch(name, detail) {
    document.body.dispatchEvent(new CustomEvent(name, { bubbles: true, detail: { stream: true, ...detail } }));
  }

  function received(event) {
    if (event.lastEventId) lastId = event.lastEventId;
    heardAt = Date.now();
    const { subject, data } = JSON.parse(event.data);
    dispatch(event.type, { id: event.lastEventId, subject, data });
    if (subject) dispatch(`${event.type}:${subject}`, { id: event.lastEventId, subject, data });
    show("open");
  }

  function close() {
    clearTimeout(timer);
    if (source) source.close();
    source = null;
  }

  function open() {
    close();
    openTopics = wantedTopics();
    if (!openTopics || document.hidden) {
      show("idle");
      return;
    }
    show("connecting");
    // The id goes into the URL: a new EventSource sends no Last-Event-ID.
    const stream = new EventSource(`${address}?${new URLSearchParams({ topics: openTopics, last: lastId })}`);
    source = stream;
    stream.addEventListener("hello", (event) => {
      delay = FIRST_DELAY;
      if (event.lastEventId) lastId = event.lastEventId;
      show("open");
    });
    stream.addEventListener("reset", (event) => {
      if (event.lastEventId) lastId = event.lastEventId;
      dispatch("resync", {});
    });
    for (const name of NAMES) stream.addEventListener(name, received);
    stream.onerror = () => {
      if (source !== stream) return;
      close(); // its own retry would lose the id, and gives up after an HTTP error
      show(delay > FIRST_DELAY ? "lost" : "connecting");
      timer = setTimeout(open, delay * (0.75 + Math.random() / 2));
      delay = Math.min(delay * 2, LAST_DELAY);
    };
  }

  document.addEventListener("visibilitychange", () => {
    if (document.hidden) {
      close();
      show("idle");
    } else if (!source) {
      delay = FIRST_DELAY;
      if (!lastId) dispatch("resync", {});
      open();
    }
  });
  // A page in the back-forward cache must not keep a connection, and is old when it comes back.
  addEventListener("pagehide", close);
  addEventListener("pageshow", (event) => {
    if (!event.persisted) return;
    dispatch("resync", {});
    open();
  });
  addEventListener("online", () => source || open());
  // Fragments may bring or take topics.
  document.addEventListener("htmx:afterSettle", () => {
    if (wantedTopics() !== openTopics && !document.hidden) open();
  });

  lastId = document.body.dataset.eventsAfter || "";
  open();
})();
