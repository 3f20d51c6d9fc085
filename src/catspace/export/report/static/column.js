// ---- The section of one column: its map, where the model fails, and what the numbers say. ----

class ColumnView extends CategoryMap {
  section() {
    const { column } = this;
    const shape = `${plural(column.n_categories, "category", "categories")}, each a point in ` +
      `${plural(column.dimension, "dimension", "dimensions")}. Points that lie close together ` +
      `are alike for ${readable(data.target, 60)}.${this.isWeekday ? " 1 is Monday, 7 is Sunday." : ""}`;
    const notes = column.left_out.map((sentence) => el("p", { class: "soft" }, readable(sentence, 600)));
    const parts = [el("h2", { id: `${this.id}-title` }, bdi(column.name)), el("p", {}, this.matters(), shape),
      this.agreement(), ...notes];
    if (column.layouts) parts.push(this.mapAndPanel());
    const cards = [this.errorTable(), ...this.figures()].filter(Boolean);
    if (!column.layouts) cards.unshift(this.plainTable());
    parts.push(el("div", { class: "cards" }, ...cards));
    if (column.vectors) parts.push(this.download());
    return el("section", { id: this.id, "aria-labelledby": `${this.id}-title` }, ...parts);
  }

  /** Whether its categories are days of the week, which a date has by number. */
  get isWeekday() {
    return this.column.name === `${this.column.raw}_day_of_week`;
  }

  /** How much the column matters, in a sentence. */
  matters() {
    const place = data.ranking.findIndex((one) => one.column === this.column.raw);
    if (place < 0) return null;
    const whole = this.column.raw === this.column.name ? "" : ` (with all of ${readable(this.column.raw, 40)})`;
    if (data.ranking[place].hardly) return `It hardly matters to the predictions${whole}. `;
    const rank = place === 0 ? "The column that matters most" : `Number ${place + 1} of ${data.ranking.length} in how much it matters`;
    return `${rank}${whole}. `;
  }

  /** Whether several networks found the same neighbours. */
  agreement() {
    const near = this.column.neighbours;
    if (!near || !this.column.layouts) return null;
    if (near.networks < 2) {
      return el("p", { class: "soft" }, "One network cannot tell how certain these neighbours are: train several " +
        "(n_networks=5, or ", el("span", { class: "whole" }, "--networks 5"), ") to see where they agree.");
    }
    const words = near.agreed > 0.7 ? "largely agree" : near.agreed > Math.max(0.35, 2 * near.chance) ? "agree in part" : "hardly agree";
    return el("p", { class: "soft" }, `The ${near.networks} networks ${words} on who is close to whom. `,
      tip("In numbers", `Of the neighbours that the first network finds, the others find ${percent(near.agreed)}; by chance it would be ${percent(near.chance)}.`));
  }

  /** Too few categories for a map: a table says it all. */
  plainTable() {
    const { column, target } = this;
    const cell = (value) => el("td", { class: "n" }, value);
    const rows = column.categories.map((name, i) => el("tr", {}, el("td", {}, bdi(name)), cell(count(column.counts[i])),
      target ? cell(number(target[i])) : null));
    for (const [name, n] of [["missing", column.n_missing], ["rare", column.n_rare]]) {
      if (n) rows.push(el("tr", { class: "special" }, el("td", {}, `(${name})`), cell(count(n)), target ? cell("") : null));
    }
    const heads = ["rows in training", ...(target ? [readable(this.targetLabel, 60)] : [])];
    return el("div", { class: "card" }, el("h3", {}, "Its categories"), el("table", {},
      el("thead", {}, el("tr", {}, el("th", { scope: "col" }, "category"), ...heads.map((name) => el("th", { scope: "col", class: "n" }, name)))),
      el("tbody", {}, ...rows)));
  }

  /** Where the model fails, and how it does where a value is missing, rare or new. */
  errorTable() {
    const { errors } = this.column;
    if (!errors || !(errors.worst.length + errors.special.length)) return null;
    const signed = [...errors.worst, ...errors.special].some((one) => one.bias !== null);
    const line = (one, name, kind) => el("tr", { class: kind }, el("td", {}, name), el("td", { class: "n" }, count(one.count)),
      el("td", { class: "n" }, errorText(one.error)),
      signed ? el("td", { class: "n" }, one.bias > 0 ? `+${number(one.bias)}` : number(one.bias)) : null);
    const rows = errors.worst.map((one) => line(one, bdi(one.name, 60), null));
    rows.push(...errors.special.map((one) => line(one, one.name, "special")));
    const heads = ["rows", errorName(), ...(signed ? ["too high (+) or low (−)"] : [])];
    return el("div", { class: "card errors" }, el("h3", {}, "Where it fails"), el("table", {},
      el("caption", {}, `Categories with at least ${errors.fewest} rows, the worst first. The mean over all rows is ${errorText(data.quality.mean_error)}.`),
      el("thead", {}, el("tr", {}, el("th", { scope: "col" }, "category"), ...heads.map((name) => el("th", { scope: "col", class: "n" }, name)))),
      el("tbody", {}, ...rows)));
  }

  download() {
    return el("p", { class: "download" }, el("button", {
      type: "button", "aria-label": `Vectors of ${readable(this.column.name, 60)} as CSV`, onclick: () => this.saveVectors(),
    }, "Vectors as CSV"));
  }

  csv() {
    const { cells, cell_name: name, counts, evidence, vectors } = this.column;
    const quote = (cell) => (/[",\r\n]/.test(cell) ? `"${cell.replace(/"/g, '""')}"` : cell);
    const header = ["category", "count", "evidence", ...vectors[0].map((_, i) => quote(`${name}_${i}`))];
    const lines = cells.map((cell, i) => [quote(cell), counts[i], evidence[i], ...vectors[i]].join(","));
    return [header.join(","), ...lines, ""].join("\r\n");
  }

  saveVectors() {
    const address = URL.createObjectURL(new Blob([this.csv()], { type: "text/csv" }));
    const file = readable(this.column.name, 60).replace(/[^\p{L}\p{N}_-]+/gu, "_");
    el("a", { href: address, download: `${file}_vectors.csv` }).click();
    setTimeout(() => URL.revokeObjectURL(address), 1000);
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
        `${readable(this.targetLabel, 40)}.`,
        (plot) => this.drawAlong(plot, target), `Pearson ${number(r)}, Spearman ${number(column.along.spearman)}`));
    }
    if (column.density) {
      const { k2, p_value: p } = column.density;
      const verdict = p < 0.01 ? "they are not normally distributed" : p < 0.05 ? "they are probably not normally distributed" : "nothing speaks against a normal distribution";
      found.push(figure("How the categories are spread",
        `Categories along the main direction, and the bell curve of the same width: ${verdict}.`,
        (plot) => this.drawDensity(plot), `D'Agostino's K² ${number(k2)}, p ${p < 0.001 ? "< 0.001" : `= ${number(p)}`}`));
    }
    if (column.distances) {
      const { pearson, spearman } = column.distances;
      found.push(figure("Does closeness mean likeness?",
        "Each point is a pair of categories: how differently the model predicts for the two, everything else being " +
        "equal, and how far apart they lie. The closer to the line, the more the map can be trusted. All but two pairs in a hundred lie between the dotted lines.",
        (plot) => this.drawDistances(plot), `Pearson ${number(pearson)}, Spearman ${number(spearman)}`));
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
    react(plot, [trace], baseLayout({
      xaxis: { title: { text: "main direction of the space" } }, yaxis: { title: { text: plotText(this.targetLabel, 30) } }, hovermode: "closest",
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
    react(plot, [
      { x: heights.map((_, i) => low + (i + 0.5) * width), y: heights, type: "bar", width, marker: { color: colour("accent"), opacity: 0.55 }, hovertemplate: "%{y} categories<extra></extra>" },
      { ...curve, type: "scatter", mode: "lines", hoverinfo: "skip", line: { color: colour("ring"), width: 2 } },
    ], baseLayout({ xaxis: { title: { text: "main direction of the space" } }, yaxis: { title: { text: "categories" } }, bargap: 0 }), config);
  }

  drawDistances(plot) {
    const { metric, embedding, fitted, lower, upper } = this.column.distances;
    const line = (y, dash) => ({ x: metric, y, type: "scatter", mode: "lines", hoverinfo: "skip", line: { color: colour("ring"), width: dash ? 1 : 2, dash } });
    react(plot, [
      { x: metric, y: embedding, type: "scatter", mode: "markers", marker: { size: 4, color: colour("accent"), opacity: 0.4 }, hoverinfo: "skip" },
      line(fitted, undefined), line(lower, "dot"), line(upper, "dot"),
    ], baseLayout({ xaxis: { title: { text: "difference of predictions" }, rangemode: "tozero" }, yaxis: { title: { text: "distance in the space" }, rangemode: "tozero" } }), config);
  }

  drawHeatMap(plot) {
    const { categories, heat_map: distances, layouts } = this.column;
    const order = categories.map((_, i) => i);
    if (layouts) order.sort((a, b) => layouts.pca.x[a] - layouts.pca.x[b]);
    const names = order.map((i) => categories[i]);
    react(plot, [{
      type: "heatmap", z: order.map((i) => order.map((j) => distances[i][j])), colorscale: colourScale(),
      text: order.map((i) => order.map((j) => `${plotText(categories[i])} and ${plotText(categories[j])}`)),
      hovertemplate: "%{text}: %{z:.3~g}<extra></extra>", colorbar: { thickness: 10, outlinewidth: 0 },
    }], baseLayout({ xaxis: namedTicks(names, "x"), yaxis: namedTicks(names, "y") }), config);
  }
}
