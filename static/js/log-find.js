// Finding in the log viewer: Ctrl-F inside it, Enter and Shift-Enter. The server searches if it can, otherwise the loaded rows are searched.

export class Finder {
  constructor(view) {
    this.view = view;
    this.root = view.root;
    this.hits = []; // positions
    this.current = -1;
    this.text = "";
    this.input = this.root.querySelector("[data-log-find]");
    this.root.querySelector("[data-log-next]")?.addEventListener("click", () => this.go(1));
    this.root.querySelector("[data-log-prev]")?.addEventListener("click", () => this.go(-1));
    if (this.input) this.root.addEventListener("keydown", (event) => this.key(event));
  }

  key(event) {
    if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "f") {
      event.preventDefault();
      this.input.focus();
      this.input.select();
    } else if (event.target === this.input && event.key === "Enter") {
      event.preventDefault();
      this.go(event.shiftKey ? -1 : 1);
    } else if (event.target === this.input && event.key === "Escape") {
      this.view.box.focus();
    }
  }

  async go(step) {
    const text = this.input.value;
    const place = `${text} ${this.view.at}`; // positions are those of one state of the log
    if (this.place !== place) {
      this.tell("Searching…");
      const hits = text ? await this.search(text) : [];
      if (!hits || this.input.value !== text) return;
      Object.assign(this, { place, hits, current: step > 0 ? -1 : 0 });
    }
    const count = this.hits.length;
    this.current = count ? (this.current + step + count) % count : -1;
    this.tell(count ? `${this.current + 1} of ${count.toLocaleString()}${this.more ? "+" : ""}` : text ? "No match" : "");
    if (count) await this.view.show(this.hits[this.current]);
    this.mark();
  }

  async search(text) {
    this.more = false;
    const address = this.root.dataset.search;
    if (address) {
      try {
        const answer = await this.view.get(address, { q: text, at: this.view.at });
        this.more = answer.next !== null;
        return answer.hits.map((hit) => hit.n);
      } catch (error) {
        this.tell(`Cannot search: ${error.message}`);
        return null;
      }
    }
    const wanted = text.toLowerCase();
    const rows = [...this.view.box.querySelectorAll("[data-n]")];
    return rows.filter((row) => row.querySelector(".log-text").textContent.toLowerCase().includes(wanted)).map((row) => Number(row.dataset.n));
  }

  mark() {
    const now = this.current >= 0 ? this.view.box.querySelector(`[data-n="${this.hits[this.current]}"]`) : null;
    for (const row of this.view.box.querySelectorAll(".log-hit")) if (row !== now) row.classList.remove("log-hit");
    now?.classList.add("log-hit");
  }

  tell(text) {
    const output = this.root.querySelector("[data-log-found]");
    if (output) output.textContent = text;
  }
}
