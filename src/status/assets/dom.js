// dom.js: elements, and tables whose rows stay in place while their figures change.  All texts are set as text, and
// characters that nobody sees (controls, marks that turn the direction of writing) as their numbers.

const SVG = "http://www.w3.org/2000/svg";

export const byId = (id) => document.getElementById(id);

const UNSEEN = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu;

export function visible(text) {
  return text.replace(UNSEEN, (c) => `⟨U+${c.codePointAt(0).toString(16).toUpperCase().padStart(4, "0")}⟩`);
}

function build(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) if (value !== undefined) node.setAttribute(name, value);
  node.append(...children.map((c) => (typeof c === "string" ? visible(c) : c)));
  return node;
}

export function make(tag, attributes = {}, ...children) {
  return build(document.createElement(tag), attributes, children);
}

export function draw(tag, attributes = {}, ...children) {
  return build(document.createElementNS(SVG, tag), attributes, children);
}

export function setText(node, text) {
  const seen = visible(text);
  if (node.textContent !== seen) node.textContent = seen;
}

// columns: [{ title, class, fill(cell, item) }]; the first one is the row's head.  fill is called with an empty cell once,
// and with the same cell for each change.
export class Table {
  constructor(place, { label, columns, keyOf, empty }) {
    Object.assign(this, { place, columns, keyOf, empty, rows: new Map() });
    const heads = columns.map((c) => make("th", { scope: "col", role: "columnheader", class: c.class }, c.title));
    this.body = make("tbody", { role: "rowgroup" });
    this.table = make("table", { class: "stack", role: "table", "aria-label": label },
      make("thead", { role: "rowgroup" }, make("tr", { role: "row" }, ...heads)), this.body);
    this.none = make("p", { class: "muted" });
    this.table.hidden = true;
    place.append(this.table, this.none);
  }

  #makeRow() {
    const cells = this.columns.map((c, i) => make(i === 0 ? "th" : "td", {
      class: c.class, "data-label": c.title, role: i === 0 ? "rowheader" : "cell", scope: i === 0 ? "row" : undefined,
    }));
    return { tr: make("tr", { role: "row" }, ...cells), cells };
  }

  show(items) {
    const old = this.rows;
    const kept = new Set(items.map((item) => this.keyOf(item)));
    for (const [key, row] of old) if (!kept.has(key)) row.tr.remove(); // first: rows that stay need not move, and keep the focus
    this.rows = new Map();
    items.forEach((item, i) => {
      const key = this.keyOf(item);
      const row = old.get(key) ?? this.#makeRow();
      this.rows.set(key, row);
      this.columns.forEach((c, k) => c.fill(row.cells[k], item));
      if (this.body.children[i] !== row.tr) this.body.insertBefore(row.tr, this.body.children[i] ?? null);
    });
    this.table.hidden = items.length === 0;
    this.none.hidden = items.length > 0;
    if (items.length === 0) setText(this.none, typeof this.empty === "function" ? this.empty() : this.empty);
  }
}

// A cell with a text, and a smaller one below it.
export function fillText(cell, text, small = "") {
  if (cell.firstChild === null) cell.append(make("span"), make("small"));
  setText(cell.firstChild, text);
  setText(cell.lastChild, small);
}

// Newer and older parts of a long list.
export class Pager {
  constructor(place, size, changed) {
    this.size = size;
    this.offset = 0;
    this.total = 0;
    this.words = make("span", { class: "muted" });
    this.back = make("button", { type: "button", class: "button" }, "Back");
    this.next = make("button", { type: "button", class: "button" }, "Next");
    this.node = make("div", { class: "pager" }, this.back, this.next, this.words);
    this.node.hidden = true;
    place.append(this.node);
    this.back.addEventListener("click", () => this.#move(-size, changed));
    this.next.addEventListener("click", () => this.#move(size, changed));
  }

  #move(by, changed) {
    this.offset = Math.max(0, this.offset + by);
    changed();
  }

  // True: the list became shorter than the place we look at, so read again.
  show(total) {
    this.total = total;
    const lost = this.offset > 0 && this.offset >= total;
    if (lost) this.offset = Math.max(0, Math.floor((total - 1) / this.size) * this.size);
    this.node.hidden = total <= this.size;
    this.back.disabled = this.offset === 0;
    this.next.disabled = this.offset + this.size >= total;
    const to = Math.min(total, this.offset + this.size);
    setText(this.words, `${(this.offset + 1).toLocaleString("en-GB")} to ${to.toLocaleString("en-GB")} of ${total.toLocaleString("en-GB")}`);
    return lost;
  }
}

// in sight, or near: what nobody sees is not read.
export function watchSight(node, appeared) {
  const sight = { is: false };
  new IntersectionObserver((entries) => {
    const before = sight.is;
    sight.is = entries.at(-1).isIntersecting;
    if (sight.is && !before) appeared();
  }, { rootMargin: "100px" }).observe(node);
  return sight;
}
