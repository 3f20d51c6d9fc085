// ---- The page ----

const MOST_LINKS = 8; // columns beside each other; where there are more, a list of all opens
const MOST_SECTIONS = 12; // that are open where nothing says what matters

function learningCurves() {
  const hasValidation = data.history.some((curve) => curve.validation.some((value) => value !== null));
  const draw = (plot) => {
    const traces = [];
    data.history.forEach((curve, i) => {
      const tint = GROUP_COLOURS[i % GROUP_COLOURS.length];
      const common = { x: curve.epoch, type: "scatter", mode: "lines+markers", marker: { size: 5 } };
      traces.push({ ...common, y: curve.loss, name: `network ${i + 1}`, line: { color: tint } });
      if (hasValidation) traces.push({ ...common, y: curve.validation, name: `network ${i + 1}, rows held back`, line: { color: tint, dash: "dot" } });
    });
    react(plot, traces, baseLayout({ xaxis: { title: { text: "epoch" }, dtick: data.history[0].epoch.length > 12 ? undefined : 1 }, yaxis: { title: { text: "loss" }, rangemode: "tozero" } }), config);
  };
  return figure("How it learned", `The loss of ${plural(data.history.length, "network", "networks")} after each pass over the rows` +
    `${hasValidation ? "; dotted on rows held back" : ""}. A curve that still falls at its end could go on learning.`, draw);
}

function columnTable(views) {
  const rows = views.map(({ column, id }) => el("tr", {}, el("td", {}, el("a", { href: `#${id}` }, bdi(column.name, 60))),
    el("td", { class: "n" }, count(column.n_categories)), el("td", { class: "n" }, count(column.dimension)), el("td", { class: "n" }, count(column.n_missing))));
  for (const name of data.numbers) rows.push(el("tr", {}, el("td", {}, bdi(name, 60)), el("td", { class: "n" }, "number"), el("td", {}), el("td", {})));
  const heads = ["categories", "dimensions", "missing"].map((name) => el("th", { scope: "col", class: "n" }, name));
  return el("div", { class: "card" }, el("h3", {}, "The columns"), el("div", { class: "scroll tall" }, el("table", {},
    el("thead", {}, el("tr", {}, el("th", { scope: "col" }, "column"), ...heads)), el("tbody", {}, ...rows))));
}

/** The first screen: how good, compared with what, which columns matter. */
function overview(idOf) {
  const cards = [];
  if (data.quality || data.scores) cards.push(scoreCard());
  if (data.ranking.length) cards.push(rankingCard(idOf));
  return el("section", { id: "overview", "aria-label": "Overview" },
    data.quality ? el("p", { class: "lead verdict" }, verdict()) : null,
    cards.length ? el("div", { class: "cards" }, ...cards) : null,
    ...data.notes.map((note) => el("p", { class: "note" }, readable(note, 600))));
}

function trainingSection(views) {
  const tiles = data.facts.filter(([, value]) => value > 0).map(([name, value]) => el("div", {}, el("dd", {}, count(value)), el("dt", {}, name)));
  const cards = [];
  if (data.history.length) cards.push(learningCurves());
  cards.push(columnTable(views));
  return el("section", { id: "training", "aria-labelledby": "training-title" }, el("h2", { id: "training-title" }, "The table and the training"),
    el("dl", { class: "tiles" }, ...tiles), el("div", { class: "cards" }, ...cards));
}

function howToRead() {
  return el("section", { id: "reading", "aria-labelledby": "reading-title" }, el("h2", { id: "reading-title" }, "The maps"),
    el("p", {}, "On the way the model gave every category a place on a map, so that categories with the same effect lie close together."),
    el("ol", { class: "how" },
      el("li", {}, "Every point is a category. Close points are alike, as far as ", bdi(data.target, 60), " goes; far points are not. Faint points have few rows: their place says little."),
      el("li", {}, "Point at one to see what it is; click it, or find it by name, to see its closest relatives."),
      el("li", {}, "Change the colours to see what the model found by itself: it was never told which categories belong together.")));
}

/** The table of contents: what matters beside each other and, of many columns, a list of all. */
function contents(fixed, views) {
  const link = (id, name) => el("li", {}, el("a", { href: `#${id}` }, name));
  const links = () => views.map(({ column, id }) => link(id, bdi(column.name, 24)));
  const all = views.length > MOST_LINKS ? el("li", {}, el("details", { class: "more" },
    el("summary", {}, `All ${count(views.length)} columns`), el("ul", {}, ...links()))) : null;
  return el("nav", { "aria-label": "Sections" }, el("ul", {}, ...fixed.map(([id, name]) => link(id, name)),
    ...(all ? [all] : []), ...links().slice(0, MOST_LINKS)));
}

/** Categorical columns in the order of how much they matter, those that hardly do apart. */
function sortViews(views) {
  const place = new Map(data.ranking.map((one, i) => [one.column, i]));
  const hardly = new Set(data.ranking.filter((one) => one.hardly).map((one) => one.column));
  const sorted = [...views].sort((a, b) => (place.get(a.column.raw) ?? 1e9) - (place.get(b.column.raw) ?? 1e9));
  const isFolded = (view, i) => (data.ranking.length ? hardly.has(view.column.raw) : i >= MOST_SECTIONS);
  const [open, folded] = [[], []];
  sorted.forEach((view, i) => (isFolded(view, i) ? folded : open).push(view));
  return { sorted: [...open, ...folded], open, folded };
}

function build() {
  const views = data.columns.map((column, i) => new ColumnView(column, i));
  const { sorted, open, folded } = sortViews(views);
  const idOf = new Map(data.numbers.map((name, i) => [name, `number-${i}`]));
  for (const view of [...sorted].reverse()) idOf.set(view.column.raw, view.id);
  const sections = [overview(idOf)];
  const fixed = [["overview", "Overview"]];
  if (data.quality) { sections.push(qualitySection()); fixed.push(["quality", "Errors"]); }
  if (views.length) sections.push(howToRead());
  sections.push(...open.map((view) => view.section()));
  if (folded.length) {
    const words = data.ranking.length ? plural(folded.length, "column that hardly matters", "columns that hardly matter") : plural(folded.length, "more column", "more columns");
    sections.push(el("details", { class: "fold", id: "folded" }, el("summary", {}, words), ...folded.map((view) => view.section())));
  }
  if (data.effects.length) { sections.push(effectsSection()); fixed.push(["numbers", "Numbers"]); }
  sections.push(trainingSection(sorted));
  fixed.push(["training", "Training"]);
  document.getElementById("page").append(
    el("header", {}, el("h1", {}, bdi(data.title))),
    contents(fixed, sorted),
    el("main", { id: "main" }, ...sections),
    el("footer", {}, `Written by catspace ${data.version}. This file holds everything it shows and asks the network for nothing.`));
  return sorted;
}

/** Open what is folded around the place that an address leads to, and go there. */
function reveal(id) {
  const node = id && document.getElementById(id);
  if (!node) return;
  for (let at = node.parentElement; at; at = at.parentElement) if (at.tagName === "DETAILS") at.open = true;
  node.scrollIntoView();
}

const views = build();
const headline = document.querySelector("nav");
const measure = () => root.style.setProperty("--nav", `${headline.getBoundingClientRect().height}px`);
measure();
addEventListener("resize", measure);
document.addEventListener("click", (event) => {
  const link = event.target.closest?.("a[href^='#']");
  if (!link) return;
  for (const menu of document.querySelectorAll("nav details[open]")) menu.open = false;
  reveal(decodeURIComponent(link.getAttribute("href").slice(1)));
});
addEventListener("hashchange", () => reveal(location.hash.slice(1)));
if (location.hash) reveal(location.hash.slice(1));
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redrawAll);
let closed = [];
addEventListener("beforeprint", () => {
  root.dataset.print = "";
  closed = [...document.querySelectorAll("main details:not([open])")];
  for (const node of closed) node.open = true;
  for (const node of drawings.keys()) drawOnce(node);
  redrawAll();
});
addEventListener("afterprint", () => {
  delete root.dataset.print;
  for (const node of closed) node.open = false;
  redrawAll();
});
// For tests and the curious: the views of the columns, by name.
window.catspaceReport = new Map(views.map((view) => [view.column.name, view]));
