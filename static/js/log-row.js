// One row of the log viewer as an element. Text from the log is only ever text: no innerHTML, no inline style.

export function rowElement(row, address) {
  const element = document.createElement("div");
  element.className = row.note ? "log-row log-note" : "log-row";
  element.dataset.id = row.id;
  if (row.n !== undefined) element.dataset.n = row.n;
  element.append(stamp(row));
  if (row.rank !== null) {
    const rank = document.createElement("span");
    rank.className = `log-rank rank-c${row.rank % 8}`;
    rank.title = row.source;
    rank.textContent = row.rank;
    element.append(rank);
  }
  const text = document.createElement("span");
  text.className = "log-text";
  text.append(...row.spans.map(run));
  element.append(text);
  if (row.cut) element.append(whole(row, element, address));
  return element;
}

function stamp(row) {
  const time = document.createElement("time");
  time.className = "log-time";
  time.dateTime = time.title = row.t;
  time.textContent = `${new Date(row.t).toLocaleTimeString([], { hourCycle: "h23" })}.${row.t.slice(20, 23)}`;
  return time;
}

function run([words, classes, link]) {
  if (!classes && !link) return words;
  const part = document.createElement(link ? "a" : "span");
  if (classes) part.className = classes;
  if (link && /^https?:\/\//i.test(link)) Object.assign(part, { href: link, rel: "noopener noreferrer nofollow", target: "_blank" });
  part.textContent = words;
  return part;
}

function whole(row, element, address) {
  const button = document.createElement("button");
  button.type = "button";
  button.className = "log-cut";
  button.textContent = `Show all ${row.cut.toLocaleString()} characters`;
  button.addEventListener("click", async () => {
    const answer = await fetch(`${address}/${row.id.replace(".", "/")}`, { headers: { Accept: "application/json" } });
    if (answer.ok) element.replaceWith(rowElement({ ...(await answer.json()), n: row.n }, address));
  });
  return button;
}
