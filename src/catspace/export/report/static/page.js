"use strict";
(() => {
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
    if (characters && characters.length > most) text = characters.slice(0, most - 1).join("") + "…";
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
  const percent = (share) => `${Math.round(100 * share)} %`;
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

  function figure(title, caption, draw) {
    const plot = el("div", { class: "plot", role: "img", "aria-label": `${title}. ${caption}` });
    later(plot, () => draw(plot));
    return el("figure", {}, el("h3", {}, title), plot, el("figcaption", {}, caption));
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

  // ---- The map of one column, and what is beside it. ----

  class ColumnView {
    constructor(column, index) {
      this.column = column;
      this.id = `column-${index}`;
      this.n = column.categories.length;
      this.layoutName = "pca";
      this.colourings = this.findColourings();
      this.chosen = this.colourings[0];
      // The mean target of each category, where the table was given.
      this.target = this.colourings.find((one) => one.is_target)?.values || null;
      this.pinned = null;
      this.matches = [];
      this.shownOptions = [];
      this.active = -1;
      this.lowered = column.categories.map((name) => name.toLowerCase());
    }

    /** What the points can be coloured by. */
    findColourings() {
      const { column } = this;
      const found = (column.colours || []).map((one) => ({
        ...one, title: one.is_target ? data.target_label : one.name,
      }));
      found.push({ name: "rows in training", title: "rows in training", values: column.counts, isCount: true });
      if (column.cluster) {
        const labels = [...new Set(column.cluster)].sort((a, b) => a - b);
        found.push({
          name: "cluster", title: "cluster", groups: column.cluster.map((one) => labels.indexOf(one)),
          labels: labels.map((label) => (label < 0 ? "none" : `cluster ${label + 1}`)),
        });
      }
      return found;
    }

    section() {
      const { column } = this;
      const shape = `${plural(column.n_categories, "category", "categories")}, each a point in ` +
        `${plural(column.dimension, "dimension", "dimensions")}. Points that lie close together ` +
        `are alike for ${readable(data.target, 60)}.`;
      const notes = column.left_out.map((sentence) => el("p", { class: "soft" }, readable(sentence, 600)));
      const parts = [el("h2", { id: `${this.id}-title` }, bdi(column.name)), el("p", {}, shape), ...notes];
      if (column.layouts) parts.push(this.mapAndPanel());
      const figures = this.figures();
      if (figures.length) parts.push(el("div", { class: "cards" }, ...figures));
      if (!column.layouts && column.neighbours) parts.push(this.plainTable());
      return el("section", { id: this.id, "aria-labelledby": `${this.id}-title` }, ...parts);
    }

    /** Too few categories for a map: a table says it all. */
    plainTable() {
      const { column } = this;
      const target = this.target;
      const rows = column.categories.map((name, i) => el("tr", {},
        el("td", {}, bdi(name)), el("td", { class: "n" }, count(column.counts[i])),
        target ? el("td", { class: "n" }, number(target[i])) : null));
      return el("table", { class: "narrow" }, el("caption", {}, "Its categories"), el("thead", {}, el("tr", {},
        el("th", { scope: "col" }, "category"), el("th", { scope: "col", class: "n" }, "rows in training"),
        target ? el("th", { scope: "col", class: "n" }, readable(data.target_label, 60)) : null)),
      el("tbody", {}, ...rows));
    }

    mapAndPanel() {
      this.map = el("div", {
        class: "map", role: "img",
        "aria-label": `Map of the categories of ${readable(this.column.name, 60)}. ` +
          "Search for a category to hear its neighbours.",
      });
      this.legend = el("ul", { class: "legend" });
      this.trust = el("p", { class: "soft" });
      this.status = el("p", { class: "quiet", role: "status" });
      this.panel = el("div", { class: "panel", "aria-live": "polite" });
      this.group = el("div", { class: "panel", hidden: true });
      this.showPinned();
      const tools = el("div", { class: "controls" }, this.layoutSwitch(), this.colourSelect(), this.searchBox());
      const handles = el("div", { class: "controls" }, ...this.handles());
      later(this.map, () => this.draw());
      return el("div", { class: "map-and-panel" },
        el("div", {}, tools, this.map, this.legend, handles, this.trust, this.status),
        el("div", {}, this.panel, this.group));
    }

    layoutSwitch() {
      const names = { pca: "PCA", tsne: "t-SNE" };
      const why = { pca: "keeps large distances", tsne: "keeps neighbours together" };
      const radios = Object.keys(this.column.layouts).map((name) => el("label", { title: why[name] },
        el("input", {
          type: "radio", name: `${this.id}-layout`, value: name, checked: name === "pca",
          onchange: () => { this.layoutName = name; this.draw(); },
        }), names[name]));
      return el("fieldset", {}, el("legend", {}, "Layout"), ...radios);
    }

    colourSelect() {
      const options = this.colourings.map((one, i) => el("option", { value: i }, readable(one.title, 60)));
      return el("label", {}, "Colour", el("select", {
        onchange: (event) => { this.chosen = this.colourings[event.target.value]; this.draw(); },
      }, ...options));
    }

    searchBox() {
      const list = `${this.id}-options`;
      this.options = el("ul", { id: list, class: "options", role: "listbox", "aria-label": "Matches", hidden: true });
      this.input = el("input", {
        type: "search", role: "combobox", autocomplete: "off", spellcheck: "false",
        placeholder: `Find a category of ${readable(this.column.name, 30)}`,
        "aria-label": `Find a category of ${readable(this.column.name, 60)}`,
        "aria-controls": list, "aria-expanded": "false", "aria-autocomplete": "list",
        oninput: () => this.search(), onkeydown: (event) => this.searchKey(event),
        onblur: () => this.closeOptions(),
      });
      return el("div", { class: "search" }, this.input, this.options);
    }

    handles() {
      const mode = (name, label) => {
        const button = el("button", {
          type: "button", "aria-pressed": String(this.dragMode() === name),
          onclick: () => {
            this.mode = name;
            for (const other of this.modeButtons) other.setAttribute("aria-pressed", String(other === button));
            Plotly.relayout(this.map, { dragmode: name });
          },
        }, label);
        return button;
      };
      this.modeButtons = [mode("pan", "Move"), mode("lasso", "Lasso a group")];
      const zoom = (label, title, factor) => el("button", {
        type: "button", title, "aria-label": title, onclick: () => this.zoom(factor),
      }, label);
      return [...this.modeButtons, zoom("+", "Zoom in", 0.6), zoom("−", "Zoom out", 1 / 0.6),
        el("button", { type: "button", onclick: () => this.zoom(null) }, "Whole map")];
    }

    /** On a touch screen a finger that moves scrolls the page until the map is asked to move. */
    dragMode() {
      return this.mode || (matchMedia("(pointer: coarse)").matches ? false : "pan");
    }

    points() {
      return this.column.layouts[this.layoutName];
    }

    hoverText(i) {
      const { column } = this;
      const lines = [`<b>${plotText(column.categories[i])}</b>`, `${plural(column.counts[i], "row", "rows")} in training, evidence ${percent(column.evidence[i])}`];
      const target = this.target;
      if (target) lines.push(`${plotText(data.target_label)}: ${number(target[i])}`);
      const near = column.neighbours.index[i].slice(0, 3).map((j) => plotText(column.categories[j], 20));
      if (near.length) lines.push(`close to ${near.join(", ")}`);
      return lines.join("<br>");
    }

    marker() {
      const { chosen } = this;
      const size = this.n > MANY ? 5 : this.n > 200 ? 7 : this.n > 40 ? 9 : 12;
      // Little evidence is drawn faintly: such a place says little.
      const opacity = this.column.evidence.map((share) => 0.2 + 0.7 * share);
      const marker = { size, opacity, line: { width: this.n > MANY ? 0 : 0.7, color: colour("soft") } };
      this.legend.replaceChildren();
      if (chosen.groups) {
        const kind = (group) => (group < 0 ? 0 : group % SYMBOLS.length);
        marker.color = chosen.groups.map((group) => (group < 0 ? colour("line") : GROUP_COLOURS[group % GROUP_COLOURS.length]));
        marker.symbol = chosen.groups.map((group) => SYMBOLS[kind(group)]);
        const present = [...new Set(chosen.groups)].filter((group) => group >= 0).sort((a, b) => a - b);
        this.legend.append(...present.map((group) => el("li", {}, swatch(group), bdi(chosen.labels[group], 40))));
        return marker;
      }
      let values = chosen.values;
      const bar = { title: { text: plotText(chosen.title, 24), side: "right" }, thickness: 12, outlinewidth: 0 };
      const known = values.filter((value) => value !== null);
      const [low, high] = [Math.min(...known), Math.max(...known)];
      let scale = middleOf(known);
      if (chosen.isCount && low > 0 && high / low > 20) {
        scale = {};
        values = values.map((value) => Math.log10(value));
        const powers = [];
        for (let p = Math.floor(Math.log10(low)); p <= Math.log10(high) + 0.01; p += 1) powers.push(p);
        bar.tickvals = powers;
        bar.ticktext = powers.map((p) => count(10 ** p));
      }
      return { ...marker, color: values, colorscale: colourScale(), showscale: true, colorbar: bar, ...scale };
    }

    draw() {
      if (!window.Plotly) return; // not read yet: it draws what is chosen when it is
      const { x, y, trustworthiness } = this.points();
      const indices = x.map((_, i) => i);
      this.texts ||= indices.map((i) => this.hoverText(i));
      const kind = this.n > MANY && hasWebGL ? "scattergl" : "scatter";
      const pick = (chosen) => ({
        x: chosen.map((i) => x[i]), y: chosen.map((i) => y[i]), customdata: chosen,
        text: chosen.map((i) => this.texts[i]), hovertemplate: "%{text}<extra></extra>", mode: "markers",
      });
      const ring = (size, width) => ({
        size, symbol: "circle-open", color: colour("ring"), line: { width, color: colour("ring") },
      });
      const near = this.pinned === null ? [] : this.column.neighbours.index[this.pinned];
      const links = { x: [], y: [] };
      for (const j of near) {
        links.x.push(x[this.pinned], x[j], null);
        links.y.push(y[this.pinned], y[j], null);
      }
      const traces = [
        { ...pick(indices), type: kind, marker: this.marker() },
        { ...links, type: "scatter", mode: "lines", hoverinfo: "skip", line: { width: 1, color: colour("ring") } },
        { ...pick(this.matches), type: "scatter", marker: ring(16, 2) },
        { ...pick(near), type: "scatter", marker: ring(13, 1.5) },
        { ...pick(this.pinned === null ? [] : [this.pinned]), type: "scatter", marker: ring(20, 3.5) },
        { x: [], y: [], type: "scatter", mode: "text", hoverinfo: "skip", text: [],
          textfont: { size: 11, color: colour("ink"), shadow: `0 0 3px ${colour("paper")}, 0 0 3px ${colour("paper")}` } },
      ];
      const bare = { showgrid: false, zeroline: false, showticklabels: false, showline: false, ticks: "" };
      const [xRange, yRange] = [padded(x), padded(y)];
      const layout = baseLayout({
        dragmode: this.dragMode(), uirevision: this.layoutName, hovermode: "closest",
        margin: { l: 5, r: 5, t: 5, b: 5 },
        xaxis: { ...bare, range: xRange }, yaxis: { ...bare, range: yRange, scaleanchor: "x" },
      });
      Plotly.react(this.map, traces, layout, { ...config, scrollZoom: !matchMedia("(pointer: coarse)").matches })
        .then(() => this.listen()).then(() => this.label());
      this.trust.textContent = "Distances in the plane cannot show everything. " +
        `Trustworthiness of this layout: ${number(trustworthiness)} (1: all neighbours in the picture are ` +
        "neighbours in the learned space; 0.5: chance). The axes have no unit; closeness is what counts.";
    }

    listen() {
      if (this.listening) return;
      this.listening = true;
      this.map.on("plotly_click", (event) => this.pin(event.points[0].customdata));
      this.map.on("plotly_selected", (event) => {
        if (!event) return;
        this.showGroup(event.points.filter((p) => p.curveNumber === 0).map((p) => p.customdata), "the lasso");
      });
      this.map.on("plotly_deselect", () => this.showGroup([], ""));
      this.map.on("plotly_relayout", (change) => {
        if (Object.keys(change).some((key) => key.includes("axis") || key === "autosize")) this.label();
      });
    }

    zoom(factor) {
      const { x, y } = this.points();
      const change = {};
      for (const [axis, values] of [["xaxis", x], ["yaxis", y]]) {
        const [low, high] = factor === null ? padded(values) : this.map.layout[axis].range;
        const [middle, half] = [(low + high) / 2, ((high - low) / 2) * (factor ?? 1)];
        change[`${axis}.range`] = [middle - half, middle + half];
      }
      Plotly.relayout(this.map, change);
    }

    /** Write names where there is room, the most frequent categories first. */
    label() {
      const { x, y } = this.points();
      const { width, height } = this.map.querySelector(".nsewdrag").getBoundingClientRect();
      const [left, right] = this.map.layout.xaxis.range;
      const [bottom, top] = this.map.layout.yaxis.range;
      const pixel = (i) => [(x[i] - left) / (right - left) * width, (top - y[i]) / (top - bottom) * height];
      const inView = x.map((_, i) => i).filter((i) => x[i] > left && x[i] < right && y[i] > bottom && y[i] < top);
      const first = new Set(this.pinned === null ? [] : [this.pinned, ...this.column.neighbours.index[this.pinned]]);
      inView.sort((a, b) => first.has(b) - first.has(a) || this.column.counts[b] - this.column.counts[a]);
      // Among many points no place is free: then only what was asked for has its name.
      const isCrowded = inView.length > MOST_LABELED;
      const taken = isCrowded ? [] : inView.map((i) => box(pixel(i), 5, 5));
      const shown = [];
      for (const i of isCrowded ? inView.filter((one) => first.has(one)) : inView) {
        const name = readable(this.column.categories[i], 22);
        const half = Array.from(name).length * 3.3;
        const [px, py] = pixel(i);
        const places = [["middle right", [px + half + 9, py]], ["middle left", [px - half - 9, py]],
          ["top center", [px, py - 14]], ["bottom center", [px, py + 14]]];
        for (const [position, centre] of places) {
          const wanted = box(centre, half, 7);
          const isInside = wanted[0] > 0 && wanted[1] < width && wanted[2] > 0 && wanted[3] < height;
          if (!isInside || taken.some((other) => overlap(wanted, other))) continue;
          taken.push(wanted);
          shown.push([i, position]);
          break;
        }
      }
      const space = (i, position) => (position === "middle right" ? "\u00a0\u00a0" : "") +
        plotText(this.column.categories[i], 22) + (position === "middle left" ? "\u00a0\u00a0" : "");
      Plotly.restyle(this.map, {
        x: [shown.map(([i]) => x[i])], y: [shown.map(([i]) => y[i])],
        text: [shown.map(([i, position]) => space(i, position))], textposition: [shown.map(([, p]) => p)],
      }, [5]);
    }

    // ---- Search ----

    search() {
      const wanted = this.input.value.trim().toLowerCase();
      this.matches = wanted === "" ? [] : this.lowered.flatMap((name, i) => (name.includes(wanted) ? [i] : []));
      const rank = (i) => (this.lowered[i] === wanted ? 0 : this.lowered[i].startsWith(wanted) ? 1 : 2);
      this.shownOptions = [...this.matches]
        .sort((a, b) => rank(a) - rank(b) || this.column.counts[b] - this.column.counts[a]).slice(0, MOST_OPTIONS);
      this.active = this.shownOptions.length ? 0 : -1;
      this.status.textContent = wanted === "" ? "" : `${plural(this.matches.length, "category", "categories")} found`;
      this.showOptions(wanted);
      this.draw();
    }

    showOptions(wanted) {
      const items = this.shownOptions.map((i, place) => el("li", {
        id: `${this.id}-option-${place}`, role: "option", "aria-selected": String(place === this.active),
        // mousedown comes before the input loses the focus
        onmousedown: (event) => { event.preventDefault(); this.choose(i); },
      }, bdi(this.column.categories[i], 80)));
      if (!items.length && wanted !== "") items.push(el("li", { role: "option", "aria-disabled": "true" }, "No category is called so."));
      this.options.replaceChildren(...items);
      this.options.hidden = items.length === 0;
      this.input.setAttribute("aria-expanded", String(items.length > 0));
      if (this.active >= 0) this.input.setAttribute("aria-activedescendant", `${this.id}-option-${this.active}`);
      else this.input.removeAttribute("aria-activedescendant");
    }

    searchKey(event) {
      const n = this.shownOptions.length;
      if (event.key === "Escape") this.closeOptions();
      else if (event.key === "Enter" && this.active >= 0) this.choose(this.shownOptions[this.active]);
      else if (n && (event.key === "ArrowDown" || event.key === "ArrowUp")) {
        this.active = (this.active + (event.key === "ArrowDown" ? 1 : n - 1)) % n;
        this.showOptions(this.input.value);
        event.preventDefault();
      }
    }

    choose(i) {
      this.matches = [];
      this.input.value = readable(this.column.categories[i], 80);
      this.closeOptions();
      this.pin(i);
    }

    closeOptions() {
      this.options.hidden = true;
      this.active = -1;
      this.input.setAttribute("aria-expanded", "false");
    }

    // ---- What is pinned, and what is in a group ----

    pin(i) {
      this.pinned = i;
      this.showPinned();
      this.draw();
    }

    showPinned() {
      const { column, pinned } = this;
      if (pinned === null) {
        this.panel.replaceChildren(el("h3", {}, "Pick a category"),
          el("p", { class: "hint" }, "Click a point, or find one by name: its closest relatives appear here. " +
            "With the lasso you list a whole group."));
        return;
      }
      const { index, distance, agreement, networks } = column.neighbours;
      const target = this.target;
      const facts = [el("dt", {}, "rows in training"), el("dd", {}, count(column.counts[pinned])),
        el("dt", { title: "How much of its place is due to its own rows; the rest is what is known of a category never seen." }, "evidence"),
        el("dd", {}, percent(column.evidence[pinned]))];
      for (const one of this.colourings) {
        if (one.isCount) continue;
        const value = one.groups ? (one.groups[pinned] < 0 ? "not known" : one.labels[one.groups[pinned]]) : number(one.values[pinned]);
        facts.push(el("dt", {}, bdi(one.title, 40)), el("dd", {}, bdi(value, 60)));
      }
      const rows = index[pinned].map((j, place) => el("tr", {},
        el("td", {}, el("button", { type: "button", onclick: () => this.pin(j) }, bdi(column.categories[j], 60))),
        el("td", { class: "n" }, number(distance[pinned][place])),
        target ? el("td", { class: "n" }, number(target[j])) : null,
        agreement ? el("td", { class: "n" }, `${Math.round(1 + agreement[pinned][place] * (networks - 1))} of ${networks}`) : null));
      const head = ["neighbour", "distance", target ? readable(data.target_label, 30) : null, agreement ? "found by networks" : null];
      // Where nothing was smoothed, the number of rows is all that is known.
      const few = (column.smooth > 0 ? column.evidence[pinned] < 0.5 : column.counts[pinned] < column.few_rows)
        ? el("p", { class: "warn" }, "Few rows: its place is hardly learned, so do not lean on its neighbours.") : null;
      const buttons = [el("button", { type: "button", onclick: () => { this.pinned = null; this.input.value = ""; this.showPinned(); this.draw(); } }, "Unpin")];
      if (column.cluster) {
        buttons.unshift(el("button", { type: "button", onclick: () => this.showCluster(column.cluster[pinned]) }, "List its cluster"));
      }
      this.panel.replaceChildren(el("h3", { class: "name" }, bdi(column.categories[pinned])), el("dl", { class: "pairs" }, ...facts),
        ...(few ? [few] : []),
        el("table", {}, el("caption", {}, "Closest, in the learned space"),
          el("thead", {}, el("tr", {}, ...head.filter(Boolean).map((name, i) => el("th", { scope: "col", class: i ? "n" : null }, name)))),
          el("tbody", {}, ...rows)),
        el("div", { class: "controls", style: "margin-top:.75rem" }, ...buttons));
    }

    showCluster(label) {
      this.showGroup(this.column.cluster.flatMap((one, i) => (one === label ? [i] : [])), "the cluster");
      this.group.scrollIntoView({ block: "nearest" });
    }

    showGroup(members, from) {
      this.group.hidden = members.length === 0;
      if (!members.length) return;
      const names = members.map((i) => this.column.categories[i]);
      const target = this.target;
      const known = target ? members.map((i) => target[i]).filter((value) => value !== null) : [];
      const mean = known.length ? ` Their ${readable(data.target_label, 40)}, averaged: ${number(known.reduce((a, b) => a + b, 0) / known.length)}.` : "";
      const text = el("textarea", { readonly: true, "aria-label": "The categories of the group" });
      text.value = names.join("\n");
      const done = el("span", { role: "status", class: "soft" });
      const copy = el("button", {
        type: "button", class: "main",
        onclick: async () => {
          try {
            await navigator.clipboard.writeText(text.value);
          } catch { // an old browser, or a page that may not: the selection is copied instead
            text.select();
            document.execCommand("copy");
          }
          done.textContent = "Copied";
        },
      }, "Copy");
      this.group.replaceChildren(el("h3", {}, `${plural(members.length, "category", "categories")} in ${from}`),
        el("p", { class: "soft" }, `One on each line, to paste elsewhere.${mean}`), text,
        el("div", { class: "controls" }, copy, done,
          el("button", { type: "button", onclick: () => this.showGroup([], "") }, "Close")));
    }

    // ---- What the numbers say ----

    figures() {
      const { column } = this;
      const found = [];
      const target = this.target;
      if (column.along && target) {
        const r = column.along.pearson;
        const strength = Math.abs(r) > 0.9 ? "is almost exactly" : Math.abs(r) > 0.6 ? "is largely" : Math.abs(r) > 0.3 ? "has something of" : "is not";
        found.push(figure("The target along the main direction",
          `Each point is a category. The direction in which categories differ most ${strength} that of the ` +
          `${readable(data.target_label, 40)} (Pearson ${number(r)}, Spearman ${number(column.along.spearman)}).`,
          (plot) => this.drawAlong(plot, target)));
      }
      if (column.density) {
        const { k2, p_value: p } = column.density;
        const verdict = p < 0.01 ? "they are not normally distributed" : p < 0.05 ? "they are probably not normally distributed" : "nothing speaks against a normal distribution";
        found.push(figure("How the categories are spread",
          `Categories along the main direction, and the bell curve of the same width: ${verdict} ` +
          `(D'Agostino's K² ${number(k2)}, p ${p < 0.001 ? "< 0.001" : `= ${number(p)}`}).`,
          (plot) => this.drawDensity(plot)));
      }
      if (column.distances) {
        const { pearson, spearman } = column.distances;
        found.push(figure("Does closeness mean likeness?",
          "Each point is a pair of categories: how differently the model predicts for the two, everything else being " +
          `equal, and how far apart they lie. The closer to the line, the more the map can be trusted (Pearson ${number(pearson)}, Spearman ${number(spearman)}).`,
          (plot) => this.drawDistances(plot)));
      }
      if (column.heat_map && this.n > 1) {
        found.push(figure("Who is close to whom", "Distances in the learned space; dark is close.", (plot) => this.drawHeatMap(plot)));
      }
      return found;
    }

    drawAlong(plot, target) {
      const { x } = this.column.layouts.pca;
      const trace = {
        x, y: target, type: this.n > MANY && hasWebGL ? "scattergl" : "scatter", mode: "markers",
        text: this.column.categories.map((name) => plotText(name)), hovertemplate: "%{text}: %{y:.4~g}<extra></extra>",
        marker: { size: this.n > 200 ? 5 : 8, color: colour("accent"), opacity: 0.7 },
      };
      Plotly.react(plot, [trace], baseLayout({
        xaxis: { title: { text: "main direction of the space" } }, yaxis: { title: { text: plotText(data.target_label, 30) } }, hovermode: "closest",
      }), config);
    }

    drawDensity(plot) {
      const { x } = this.column.layouts.pca;
      const sd = this.column.density.standard_deviation;
      const [low, high] = [Math.min(...x), Math.max(...x)];
      const n = Math.max(5, Math.min(40, Math.round(2 * Math.sqrt(x.length))));
      const width = (high - low) / n || 1;
      const heights = new Array(n).fill(0);
      for (const value of x) heights[Math.min(n - 1, Math.floor((value - low) / width))] += 1;
      const middle = x.reduce((a, b) => a + b, 0) / x.length;
      const curve = { x: [], y: [] };
      for (let i = 0; i <= 100; i += 1) {
        const at = low - sd / 2 + (high - low + sd) * i / 100;
        curve.x.push(at);
        curve.y.push(x.length * width * Math.exp(-((at - middle) ** 2) / (2 * sd * sd)) / (sd * Math.sqrt(2 * Math.PI)));
      }
      Plotly.react(plot, [
        { x: heights.map((_, i) => low + (i + 0.5) * width), y: heights, type: "bar", width, marker: { color: colour("accent"), opacity: 0.55 }, hovertemplate: "%{y} categories<extra></extra>" },
        { ...curve, type: "scatter", mode: "lines", hoverinfo: "skip", line: { color: colour("ring"), width: 2 } },
      ], baseLayout({ xaxis: { title: { text: "main direction of the space" } }, yaxis: { title: { text: "categories" } }, bargap: 0 }), config);
    }

    drawDistances(plot) {
      const { metric, embedding, fitted, lower, upper } = this.column.distances;
      const line = (y, dash) => ({ x: metric, y, type: "scatter", mode: "lines", hoverinfo: "skip", line: { color: colour("ring"), width: dash ? 1 : 2, dash } });
      Plotly.react(plot, [
        { x: metric, y: embedding, type: "scatter", mode: "markers", marker: { size: 4, color: colour("accent"), opacity: 0.4 }, hoverinfo: "skip" },
        line(fitted, undefined), line(lower, "dot"), line(upper, "dot"),
      ], baseLayout({ xaxis: { title: { text: "difference of predictions" }, rangemode: "tozero" }, yaxis: { title: { text: "distance in the space" }, rangemode: "tozero" } }), config);
    }

    drawHeatMap(plot) {
      const { categories, heat_map: distances, layouts } = this.column;
      const order = categories.map((_, i) => i);
      if (layouts) order.sort((a, b) => layouts.pca.x[a] - layouts.pca.x[b]);
      const ticks = { tickmode: "array", tickvals: order.map((_, i) => i), ticktext: order.map((i) => plotText(categories[i], 12)), showgrid: false, zeroline: false };
      Plotly.react(plot, [{
        type: "heatmap", z: order.map((i) => order.map((j) => distances[i][j])), colorscale: colourScale(),
        text: order.map((i) => order.map((j) => `${plotText(categories[i])} and ${plotText(categories[j])}`)),
        hovertemplate: "%{text}: %{z:.3~g}<extra></extra>", colorbar: { thickness: 10, outlinewidth: 0 },
      }], baseLayout({ xaxis: ticks, yaxis: { ...ticks, autorange: "reversed" } }), config);
    }
  }

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

  const box = ([x, y], halfWidth, halfHeight) => [x - halfWidth, x + halfWidth, y - halfHeight, y + halfHeight];
  const overlap = (a, b) => a[0] < b[1] && b[0] < a[1] && a[2] < b[3] && b[2] < a[3];

  // ---- The page ----

  function scoreTable() {
    const { names, rows } = data.scores;
    return el("div", { class: "card" }, el("h3", {}, "How well it predicts"),
      el("table", {}, el("caption", {}, "On rows that were held back from training"),
        el("thead", {}, el("tr", {}, el("th", { scope: "col" }, "method"), ...names.map((name) => el("th", { scope: "col", class: "n" }, name)))),
        el("tbody", {}, ...rows.map(([method, ...values]) => el("tr", { class: method === "catspace" ? "best" : null },
          el("td", {}, method), ...values.map((value) => el("td", { class: "n" }, number(value))))))));
  }

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
      Plotly.react(plot, traces, baseLayout({ xaxis: { title: { text: "epoch" }, dtick: data.history[0].epoch.length > 12 ? undefined : 1 }, yaxis: { title: { text: "loss" }, rangemode: "tozero" } }), config);
    };
    return figure("Learning curves", `The loss of ${plural(data.history.length, "network", "networks")} after each pass over the rows` +
      `${hasValidation ? "; dotted on rows held back" : ""}. A curve that still falls at its end could go on learning.`, draw);
  }

  function columnTable(views) {
    const rows = views.map(({ column, id }) => el("tr", {}, el("td", {}, el("a", { href: `#${id}` }, bdi(column.name, 60))),
      el("td", { class: "n" }, count(column.n_categories)), el("td", { class: "n" }, count(column.dimension))));
    for (const name of data.numbers) rows.push(el("tr", {}, el("td", {}, bdi(name, 60)), el("td", { class: "n" }, "number"), el("td", { class: "n" }, "")));
    return el("div", { class: "card" }, el("h3", {}, "The columns"), el("table", {},
      el("thead", {}, el("tr", {}, el("th", { scope: "col" }, "column"), el("th", { scope: "col", class: "n" }, "categories"), el("th", { scope: "col", class: "n" }, "dimensions"))),
      el("tbody", {}, ...rows)));
  }

  function overview(views) {
    const tiles = data.facts.filter(([, value]) => value > 0).map(([name, value]) => el("div", {}, el("dd", {}, count(value)), el("dt", {}, name)));
    const cards = [];
    if (data.scores) cards.push(scoreTable());
    if (data.history.length) cards.push(learningCurves());
    cards.push(columnTable(views));
    return el("section", { id: "overview", "aria-label": "Overview" }, el("dl", { class: "tiles" }, ...tiles), el("div", { class: "cards" }, ...cards));
  }

  function build() {
    const views = data.columns.map((column, i) => new ColumnView(column, i));
    const links = [el("li", {}, el("a", { href: "#overview" }, "Overview")),
      ...views.map(({ column, id }) => el("li", {}, el("a", { href: `#${id}` }, bdi(column.name, 40))))];
    const target = readable(data.target, 60);
    document.getElementById("page").append(
      el("header", {}, el("h1", {}, bdi(data.title)),
        el("p", { class: "lead" }, "A model was trained to predict ", bdi(data.target, 60), ". On the way it gave every category a place on a map, " +
          "so that categories with the same effect lie close together. This page shows those maps."),
        el("ol", { class: "how" },
          el("li", {}, "Every point is a category. Close points are alike, as far as ", el("bdi", {}, target), " goes; far points are not."),
          el("li", {}, "Point at one to see what it is; click it, or find it by name, to see its closest relatives."),
          el("li", {}, "Change the colours to see what the model found by itself: it was never told which categories belong together."))),
      el("nav", { "aria-label": "Sections" }, el("ul", {}, ...links)),
      el("main", { id: "main" }, overview(views), ...views.map((view) => view.section())),
      el("footer", {}, `Written by catspace ${data.version}. This file holds everything it shows and asks the network for nothing.`));
    return views;
  }

  const views = build();
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redrawAll);
  addEventListener("beforeprint", () => {
    root.dataset.print = "";
    for (const node of drawings.keys()) drawOnce(node);
    redrawAll();
  });
  addEventListener("afterprint", () => {
    delete root.dataset.print;
    redrawAll();
  });
  // For tests and the curious: the views of the columns, by name.
  window.catspaceReport = new Map(views.map((view) => [view.column.name, view]));
})();
