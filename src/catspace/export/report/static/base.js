const data = JSON.parse(document.getElementById("data").textContent);
const root = document.documentElement;

// Two palettes for groups that people who cannot tell red from green can tell apart
// (after Paul Tol), and symbols for those who see no colour at all.
const GROUP_COLOURS = ["#4477aa", "#ee6677", "#228833", "#ccbb44", "#66ccee", "#aa3377",
  "#bbbbbb", "#ee8866", "#44bb99", "#ffaabb", "#999933", "#882255"];
const SYMBOLS = ["circle", "square", "diamond", "triangle-up", "cross", "x", "star",
  "triangle-down", "pentagon", "hexagon", "hourglass", "bowtie"];
const MANY = 2000; // points that are drawn by the graphics card, where there is one
const MOST_LABELED = 150; // points in view
const DIRECTIONS = 24; // in which the outermost of more points than that have their names
const MOST_TICKS = 16; // names along one side of a picture
const MOST_OPTIONS = 8;

// ---- Text: names of categories are data from strangers, so they are only ever text. ----

/** Make an element; strings among the children become text nodes. */
function el(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (value !== null && value !== false) node.setAttribute(name, value === true ? "" : value);
  }
  node.append(...children.filter((child) => child !== null));
  return node;
}

/** A name as it can be shown: characters that would turn the text around are made visible. */
function readable(name, most = Infinity) {
  let text = name.replace(/[\u0000-\u001f\u007f\u202a-\u202e\u2066-\u2069]/g, "\ufffd");
  if (text.trim() === "") text = text === "" ? "(empty)" : `"${text}"`;
  const characters = text.length > most ? Array.from(text) : null;
  if (characters && characters.length > most) {
    // The end tells long names apart as often as the beginning.
    const end = Math.floor((most - 1) / 2);
    text = `${characters.slice(0, most - 1 - end).join("")}…${characters.slice(characters.length - end).join("")}`;
  }
  return text;
}

/** A name inside a page: isolated, so that right-to-left text stays in its place. */
const bdi = (name, most = 300) => el("bdi", {}, readable(name, most));

/** A name inside a plot, whose labels know some HTML. */
function plotText(name, most = 40) {
  const text = readable(name, most);
  const escaped = text.replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;");
  return `\u2068${escaped}\u2069`;
}

const count = (n) => n.toLocaleString("en");
function number(value) {
  if (value === null || value === undefined) return "not known";
  const size = Math.abs(value);
  const text = size >= 1000 ? Math.round(value).toLocaleString("en") : value === 0 ? "0" : value.toPrecision(3);
  return text.replace("-", "−");
}
const percent = (share) => `${share > 0 && share < 0.01 ? (100 * share).toPrecision(1) : Math.round(100 * share)}\u00a0%`; // which stays on one line
const plural = (n, one, many) => `${count(n)} ${n === 1 ? one : many}`;

// ---- Plots: one place that knows colours, and draws when a plot comes into view. ----

const colour = (name) => getComputedStyle(root).getPropertyValue(`--${name}`).trim();
const config = { displayModeBar: false, responsive: true, scrollZoom: false };
const drawings = new Map(); // element -> function that draws it
const drawn = new Set();

function baseLayout(extra = {}) {
  const axis = () => ({
    gridcolor: colour("grid"), zerolinecolor: colour("grid"), linecolor: colour("line"),
    automargin: true,
  });
  const layout = {
    paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)", showlegend: false,
    font: { color: colour("ink"), size: 12, family: "system-ui, sans-serif" },
    margin: { l: 50, r: 15, t: 10, b: 45 }, xaxis: axis(), yaxis: axis(),
    hoverlabel: {
      align: "left", bgcolor: colour("paper"), bordercolor: colour("line"),
      font: { color: colour("ink") },
    },
    ...extra,
  };
  for (const name of ["xaxis", "yaxis"]) layout[name] = { ...axis(), ...(extra[name] || {}) };
  return layout;
}

/** Draw, for paper exactly as wide as the place that is there for it; a name between dollars is no formula. */
function react(plot, traces, layout, settings) {
  const size = "print" in root.dataset ? { autosize: false, width: plot.clientWidth, height: plot.clientHeight } : {};
  return Plotly.react(plot, traces, { ...layout, ...size }, { typesetMath: false, ...settings });
}

const ABOVE = { orientation: "h", y: 1.02, yanchor: "bottom" }; // a legend that grows upwards

const observer = new IntersectionObserver((entries) => {
  for (const entry of entries) if (entry.isIntersecting) drawOnce(entry.target);
}, { rootMargin: "300px" });

function drawOnce(node) {
  if (drawn.has(node)) return;
  drawn.add(node);
  observer.unobserve(node);
  drawings.get(node)();
}

// The page can be read and searched while the library that draws is still being read.
const loaded = new Promise((resolve) => addEventListener("load", resolve));

function later(node, draw) {
  drawings.set(node, draw);
  loaded.then(() => observer.observe(node));
}

function redrawAll() {
  for (const node of drawn) drawings.get(node)();
}

/** A picture with a sentence in plain words, and the statistics behind it for who points at them. */
function figure(title, caption, draw, statistics = null) {
  const plot = el("div", { class: "plot", role: "img", "aria-label": `${title}. ${caption}` });
  later(plot, () => draw(plot));
  return el("figure", {}, el("h3", {}, title), plot,
    el("figcaption", {}, caption, statistics ? " " : null, statistics ? tip("In numbers", statistics) : null));
}

/** Words that explain themselves when they are pointed at, touched or reached by keyboard. */
function tip(words, explanation) {
  return el("span", { class: "tip", tabindex: "0", role: "note", "aria-label": `${words}: ${explanation}`, "data-tip": explanation }, words);
}

/** From low to high, with ends that stand out from the page: viridis, lighter on dark. */
function colourScale() {
  const isDark = colour("scheme") === "dark";
  return isDark ? [[0, "#7b6fd6"], [0.35, "#3f8fc0"], [0.65, "#3fbf8f"], [1, "#fde725"]] : "Viridis";
}

const hasWebGL = (() => {
  try {
    return Boolean(document.createElement("canvas").getContext("webgl"));
  } catch {
    return false;
  }
})();

function swatch(group) {
  const space = "http://www.w3.org/2000/svg";
  const picture = document.createElementNS(space, "svg");
  picture.setAttribute("width", "11");
  picture.setAttribute("height", "11");
  picture.setAttribute("aria-hidden", "true");
  const dot = document.createElementNS(space, "rect");
  for (const [name, value] of Object.entries({ width: 11, height: 11, rx: 3, fill: GROUP_COLOURS[group % GROUP_COLOURS.length] })) dot.setAttribute(name, String(value));
  picture.append(dot);
  return picture;
}

/** The range of most values, so that one that lies far out does not take all the colours. */
function middleOf(values) {
  const sorted = [...values].sort((a, b) => a - b);
  const at = (share) => sorted[Math.round(share * (sorted.length - 1))];
  const [low, high] = [at(0.02), at(0.98)];
  return low < high ? { cmin: low, cmax: high } : {};
}

function padded(values) {
  const [low, high] = [Math.min(...values), Math.max(...values)];
  const room = (high - low) * 0.06 || 1;
  return [low - room, high + room];
}

/** Where many points end: those that lie furthest out in each direction. */
function outermost(x, y, among) {
  const found = new Set();
  for (let k = 0; k < DIRECTIONS; k += 1) {
    const [a, b] = [Math.cos(2 * Math.PI * k / DIRECTIONS), Math.sin(2 * Math.PI * k / DIRECTIONS)];
    let best = among[0];
    for (const i of among) if (a * x[i] + b * y[i] > a * x[best] + b * y[best]) best = i;
    found.add(best);
  }
  return found;
}

/** Names along an axis, every second, third… of them where all would not fit. */
function namedTicks(names, side) {
  const step = Math.ceil(names.length / MOST_TICKS);
  const places = names.map((_, i) => i).filter((i) => i % step === 0);
  return {
    tickmode: "array", tickvals: places, ticktext: places.map((i) => plotText(names[i], 14)),
    showgrid: false, zeroline: false, ...(side === "y" ? { autorange: "reversed" } : {}),
  };
}

const box = ([x, y], halfWidth, halfHeight) => [x - halfWidth, x + halfWidth, y - halfHeight, y + halfHeight];
const overlap = (a, b) => a[0] < b[1] && b[0] < a[1] && a[2] < b[3] && b[2] < a[3];
