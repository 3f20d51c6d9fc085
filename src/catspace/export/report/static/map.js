// ---- The map of one column, and what is beside it. ----

class CategoryMap {
  constructor(column, index) {
    this.column = column;
    this.id = `column-${index}`;
    this.n = column.categories.length;
    this.layoutName = "pca";
    this.colourings = this.findColourings();
    this.chosen = this.colourings[0];
    // The mean target of each category, where the table was given.
    this.target = this.colourings.find((one) => one.is_target)?.values || null;
    this.targetLabel = data.target_labels[0];
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
      ...one, title: one.is_target ? data.target_labels[one.output] : one.is_error ? errorName() : one.name,
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

  mapAndPanel() {
    this.map = el("div", {
      class: "map", role: "img",
      "aria-label": `Map of the categories of ${readable(this.column.name, 60)}. ` +
        "Search for a category to hear its neighbours.",
    });
    this.legend = el("ul", { class: "legend" });
    this.trust = el("p", { class: "soft trust" });
    this.sayTrust();
    this.status = el("p", { class: "quiet", role: "status" });
    this.panel = el("div", { class: "panel", "aria-live": "polite" });
    this.group = el("div", { class: "panel", hidden: true });
    this.showPinned();
    const tools = el("div", { class: "controls" }, this.layoutSwitch(), this.colourSelect(), this.searchBox());
    const handles = el("div", { class: "controls" }, ...this.handles());
    later(this.map, () => this.draw());
    this.map.addEventListener("wheel", (event) => this.wheel(event), { passive: false });
    return el("div", { class: "map-and-panel" },
      el("div", {}, tools, this.map, this.legend, handles, this.trust, this.status),
      el("div", {}, this.panel, this.group));
  }

  layoutSwitch() {
    const names = { pca: "Overall shape", tsne: "Neighbours" };
    const why = { pca: "PCA: keeps large distances", tsne: "t-SNE: keeps neighbours together" };
    const radios = Object.keys(this.column.layouts).map((name) => el("label", { title: why[name] },
      el("input", {
        type: "radio", name: `${this.id}-layout`, value: name, checked: name === "pca",
        onchange: () => { this.layoutName = name; this.sayTrust(); this.draw(); },
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
    if (target) lines.push(`${plotText(this.targetLabel)}: ${number(target[i])}`);
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
    const { x, y } = this.points();
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
    react(this.map, traces, layout, config)
      .then(() => this.listen()).then(() => this.label());
  }

  /** How far the picture can be trusted: a plane cannot show all that a space holds. */
  sayTrust() {
    const { trustworthiness: trust } = this.points();
    const words = trust >= 0.9 ? "Points that are close here are close in the learned space too."
      : trust >= 0.75 ? "Most points that are close here are close in the learned space too."
        : "A plane shows little of this space: look at the list of neighbours rather than at the picture.";
    this.trust.replaceChildren(`${words} The axes have no unit; closeness is what counts. Ctrl and the wheel zoom. `,
      tip("In numbers", `Trustworthiness ${number(trust)}: 1 where all neighbours in the picture are neighbours in the learned space, 0.5 by chance.`));
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

  /** Zoom around a place, given as shares of the ranges; the whole map where there is no factor. */
  zoom(factor, at = [0.5, 0.5]) {
    const { x, y } = this.points();
    const change = {};
    [["xaxis", x], ["yaxis", y]].forEach(([axis, values], i) => {
      const [low, high] = factor === null ? padded(values) : this.map.layout[axis].range;
      const fixed = low + at[i] * (high - low);
      change[`${axis}.range`] = [low, high].map((end) => fixed + (end - fixed) * (factor ?? 1));
    });
    Plotly.relayout(this.map, change);
  }

  /** The wheel scrolls the page; with Ctrl it zooms the map where it points. */
  wheel(event) {
    if (!event.ctrlKey && !event.metaKey) return;
    event.preventDefault();
    const area = this.map.querySelector(".nsewdrag")?.getBoundingClientRect();
    if (!area) return;
    this.zoom(Math.exp(event.deltaY * 0.002), [(event.clientX - area.x) / area.width, (area.bottom - event.clientY) / area.height]);
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
    // Among many points hardly a place is free: what was asked for has its name wherever it is, and
    // those at the edge, which are the extremes, where it covers none.
    const isCrowded = inView.length > MOST_LABELED;
    const ends = isCrowded ? outermost(x, y, inView) : new Set();
    const points = inView.map((i) => box(pixel(i), 5, 5));
    const taken = isCrowded && first.size ? [] : points;
    const shown = [];
    for (const i of isCrowded ? inView.filter((one) => (first.size ? first : ends).has(one)) : inView) {
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
    const head = ["neighbour", "distance", target ? readable(this.targetLabel, 30) : null, agreement ? "found by networks" : null];
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
    const mean = known.length ? ` Their ${readable(this.targetLabel, 40)}, averaged: ${number(known.reduce((a, b) => a + b, 0) / known.length)}.` : "";
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
}
