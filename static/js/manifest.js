// Links to a line of the manifest select that line in the text.
"use strict";

document.addEventListener("click", (event) => {
  const link = event.target.closest("[data-goto]");
  const area = document.getElementById("id_text");
  if (!link || !area) return;
  event.preventDefault();
  const lines = area.value.split("\n");
  const wanted = Math.min(Number(link.dataset.goto), lines.length) - 1;
  const start = lines.slice(0, wanted).reduce((sum, line) => sum + line.length + 1, 0);
  area.focus();
  area.setSelectionRange(start, start + lines[wanted].length);
  area.scrollTop = (area.scrollHeight / lines.length) * Math.max(wanted - 3, 0);
});
