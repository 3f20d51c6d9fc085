// ---- How good, compared with what, which columns matter: the first screen, and what is below. ----

const errorName = () => (data.quality?.is_class ? "share of wrong answers" : "mean error");
const errorText = (value) => (value === null ? "not known" : data.quality?.is_class ? percent(value) : number(value));

// What each score means, for who has never heard of it; and whether more of it is better.
const SCORES = {
  "R²": ["how much of the differences between rows is explained: 1 is all, 0 is what a constant explains", true],
  "mean absolute error": ["how far predictions are off, on average, in the unit of the target", false],
  "root mean squared error": ["as the mean absolute error, but large errors weigh more", false],
  MAPE: ["how far predictions are off, as a share of the true value", false],
  accuracy: ["the share of rows whose class was predicted", true],
  "log loss": ["how surprised the model is by the truth: it punishes being sure and wrong", false],
};

/** One sentence that a manager can repeat. */
function verdict() {
  const { quality, scores } = data;
  const rows = `${count(quality.n_rows)} rows ${quality.is_new ? "that it had not seen" : "of the table"}`;
  const table = scores || quality.scores;
  const main = table.names.includes("mean absolute error") ? "mean absolute error" : table.names.includes("accuracy") ? "accuracy" : null;
  const column = 1 + table.names.indexOf(main);
  const own = table.rows.find(([method]) => method === "catspace");
  const constant = table.rows.find(([method]) => method in GUESSES);
  const than = main && own && constant ? constant[column] : null;
  if (quality.is_class) {
    return `On ${rows} it names the right class in ${percent(1 - quality.mean_error)} of them` +
      `${than === null ? "" : `; ${GUESSES[constant[0]]} would be right in ${percent(than)}`}.`;
  }
  const share = quality.own.MAPE === undefined ? "" : ` (${percent(quality.own.MAPE)})`;
  return `On ${rows} its predictions are off by ${number(quality.mean_error)}${share} on average` +
    `${than === null ? "" : `; ${GUESSES[constant[0]]} would be off by ${number(than)}`}.`;
}

const GUESSES = { mean: "always guessing the mean", majority: "always guessing the most frequent class" };

/** Bars for numbers with names: plain elements, so that they print, scale and are read aloud. */
function bars(lines) {
  const most = Math.max(...lines.map((line) => line.value), 0) || 1;
  return el("table", { class: "bars" }, el("tbody", {}, ...lines.map((line) => el("tr", { class: line.kind || null },
    el("th", { scope: "row" }, line.name), el("td", { class: "bar" },
      el("span", { class: "fill", style: `width:${Math.max(0, 100 * line.value / most).toFixed(1)}%` })),
    el("td", { class: "n" }, line.text)))));
}

function scoreCard() {
  const { names, rows } = data.scores || data.quality.scores;
  const main = names.includes("mean absolute error") ? "mean absolute error" : names.includes("accuracy") ? "accuracy" : names[0];
  const at = 1 + names.indexOf(main);
  const isBetter = SCORES[main]?.[1] ? "more is better" : "less is better";
  const isOwn = (method) => method.startsWith("catspace");
  const known = rows.filter((row) => row[at] !== null);
  const head = names.map((name) => el("th", { scope: "col", class: "n" }, SCORES[name] ? tip(name, SCORES[name][0]) : name));
  const line = ([method, ...values]) => el("tr", { class: isOwn(method) ? "best" : null },
    el("td", {}, method), ...values.map((value) => el("td", { class: "n" }, number(value))));
  const table = el("table", {}, el("thead", {}, el("tr", {}, el("th", { scope: "col" }, "method"), ...head)),
    el("tbody", {}, ...rows.map(line)));
  return el("div", { class: "card", id: "scores" }, el("h3", {}, "How good is it, compared with what?"),
    el("p", { class: "soft" }, `${main[0].toUpperCase()}${main.slice(1)}: ${isBetter}.`),
    bars(known.map((row) => ({ name: row[0], value: Math.max(0, row[at]), text: number(row[at]), kind: isOwn(row[0]) ? "best" : null }))),
    names.length < 2 ? null : el("details", {}, el("summary", {}, "All scores"), el("div", { class: "scroll" }, table)));
}

/** Which columns matter, each with a bar that leads to its section. */
function rankingCard(idOf) {
  const { ranking, quality } = data;
  const unit = quality.is_class ? "log loss" : "mean error";
  const line = (one) => ({
    name: idOf.has(one.column) ? el("a", { href: `#${idOf.get(one.column)}` }, bdi(one.column, 28)) : bdi(one.column, 28),
    value: Math.max(0, one.importance),
    text: tip(`${one.importance < 0 ? "" : "+"}${number(one.importance)}`, `${unit} grows by ${number(one.importance)} ± ${number(one.std)} when the values of ${readable(one.column, 40)} are shuffled`),
  });
  const [main, rest] = [[], []];
  ranking.forEach((one, i) => (one.hardly || i >= 10 ? rest : main).push(one));
  if (!main.length) main.push(...rest.splice(0, 3));
  const folded = rest.length ? el("details", {}, el("summary", {}, `${plural(rest.length, "column matters", "columns matter")} less`), bars(rest.map(line))) : null;
  return el("div", { class: "card", id: "ranking" }, el("h3", {}, "Which columns matter?"),
    el("p", { class: "soft" }, `How much worse the predictions become when a column is scrambled (growth of the ${unit}).`),
    bars(main.map(line)), folded);
}

function qualitySection() {
  const { quality } = data;
  const cards = [];
  for (const output of quality.outputs || []) cards.push(predictedFigure(output));
  if (quality.confusion) cards.push(confusionFigure(quality.confusion));
  if (quality.calibration) cards.push(calibrationFigure(quality.calibration));
  for (const time of quality.times) cards.push(timeFigure(time));
  return el("section", { id: "quality", "aria-labelledby": "quality-title" }, el("h2", { id: "quality-title" }, "How far off, and when"),
    el("div", { class: "cards" }, ...cards));
}

function predictedFigure({ name, actual, predicted, half_within: half, most_within: most, bias }) {
  const lean = Math.abs(bias) < 0.1 * half || half === 0 ? "" : ` On average they are ${number(Math.abs(bias))} too ${bias > 0 ? "high" : "low"}.`;
  const words = `Each point is a row; on the line the prediction is right. Half of the predictions are off by less than ${number(half)}, nine in ten by less than ${number(most)}.${lean}`;
  return figure(`Predicted and actual ${name === "the target" ? "values" : readable(name, 40)}`, words, (plot) => {
    const ends = [Math.min(...actual, ...predicted), Math.max(...actual, ...predicted)];
    react(plot, [
      { x: actual, y: predicted, type: "scatter", mode: "markers", marker: { size: 4, color: colour("accent"), opacity: 0.45 }, hovertemplate: "actual %{x:.4~g}, predicted %{y:.4~g}<extra></extra>" },
      { x: ends, y: ends, type: "scatter", mode: "lines", hoverinfo: "skip", line: { color: colour("ring"), width: 2 } },
    ], baseLayout({ xaxis: { title: { text: "actual" } }, yaxis: { title: { text: "predicted" } }, hovermode: "closest" }), config);
  });
}

function timeFigure({ column, dates, error, bias, counts }) {
  const name = readable(column, 40);
  const words = bias ? "Above zero the predictions were too high, below zero too low. A line that leaves zero at its end says that the world has changed since the training."
    : "The share of wrong answers. A line that rises at its end says that the world has changed since the training.";
  return figure(`Errors over time (${name})`, words, (plot) => {
    const hover = { text: counts.map((n) => plural(n, "row", "rows")), hovertemplate: "%{x}: %{y:.4~g}, %{text}<extra></extra>" };
    const line = (y, tint, label, dash) => ({ x: dates, y, type: "scatter", mode: "lines+markers", name: label, line: { color: tint, dash }, marker: { size: 4 }, ...hover });
    const traces = bias ? [line(bias, colour("accent"), "predicted − actual"), line(error, colour("soft"), "mean error", "dot")] : [line(error, colour("accent"), errorName())];
    react(plot, traces, baseLayout({
      showlegend: Boolean(bias), legend: ABOVE, xaxis: { type: "date" },
      yaxis: { title: { text: bias ? "error" : errorName() }, zeroline: true, zerolinecolor: colour("soft") },
    }), config);
  });
}

function confusionFigure({ classes, counts, n_classes: n }) {
  const few = n > classes.length ? ` The ${classes.length} most frequent of ${n} classes.` : "";
  return figure("What is taken for what", `Each line is a true class, with the share of its rows that were taken for each. On the diagonal the answer was right.${few}`, (plot) => {
    const shares = counts.map((row) => { const sum = row.reduce((a, b) => a + b, 0); return row.map((value) => (sum ? value / sum : 0)); });
    const isDark = colour("scheme") === "dark";
    react(plot, [{
      type: "heatmap", z: shares, zmin: 0, zmax: 1, showscale: false,
      colorscale: [[0, colour("card")], [1, isDark ? "#2f81c9" : "#0b5cad"]],
      text: counts.map((row, i) => row.map((value, j) => (classes.length <= 6 ? `${percent(shares[i][j])}` : ""))), texttemplate: "%{text}",
      customdata: counts, hovertemplate: "%{customdata} rows, %{z:.0%}<extra></extra>",
    }], baseLayout({ xaxis: { ...namedTicks(classes, "x"), title: { text: "predicted" } }, yaxis: { ...namedTicks(classes, "y"), title: { text: "actual" } } }), config);
  });
}

function calibrationFigure({ of, said, happened, counts }) {
  const what = of === null ? "the predicted class" : readable(of, 40);
  const off = said.reduce((sum, one, i) => sum + counts[i] * Math.abs(one - happened[i]), 0) / counts.reduce((a, b) => a + b, 0);
  const words = `${off < 0.03 ? "Its probabilities can be taken at their word" : off < 0.1 ? "Its probabilities are roughly right" : "Its probabilities should not be taken at their word"}: ` +
    `of the rows where it gives ${what} so many percent, this share was so. On the line it is right.`;
  return figure("Can its probabilities be believed?", words, (plot) => {
    const most = Math.max(...counts);
    react(plot, [
      { x: [0, 1], y: [0, 1], type: "scatter", mode: "lines", hoverinfo: "skip", line: { color: colour("ring"), width: 1.5 } },
      { x: said, y: happened, type: "scatter", mode: "lines+markers", line: { color: colour("accent") }, marker: { size: counts.map((n) => 5 + 11 * Math.sqrt(n / most)), color: colour("accent") },
        text: counts.map((n) => plural(n, "row", "rows")), hovertemplate: "said %{x:.0%}, happened %{y:.0%}, %{text}<extra></extra>" },
    ], baseLayout({ xaxis: { title: { text: "said" }, tickformat: ".0%", range: [-0.03, 1.03] }, yaxis: { title: { text: "happened" }, tickformat: ".0%", range: [-0.03, 1.03] }, hovermode: "closest" }), config);
  }, `On average the two are ${percent(off)} apart (expected calibration error).`);
}

/** What the prediction does along each number, those that matter first. */
function effectsSection() {
  const place = new Map(data.ranking.map((one, i) => [one.column, i]));
  const hardly = new Set(data.ranking.filter((one) => one.hardly).map((one) => one.column));
  const sorted = [...data.effects].sort((a, b) => (place.get(a.name) ?? 1e9) - (place.get(b.name) ?? 1e9));
  const cards = (some) => el("div", { class: "cards" }, ...some.map(effectFigure));
  const [main, rest] = [sorted.filter((one) => !hardly.has(one.name)), sorted.filter((one) => hardly.has(one.name))];
  return el("section", { id: "numbers", "aria-labelledby": "numbers-title" }, el("h2", { id: "numbers-title" }, "What each number does"),
    el("p", {}, "What the prediction does along a column of numbers, everything else being as it is in the rows."),
    main.length ? cards(main) : null,
    rest.length ? el("details", { class: "fold" }, el("summary", {}, `${plural(rest.length, "number that hardly matters", "numbers that hardly matter")}`), cards(rest)) : null);
}

function effectFigure({ name, curves }) {
  const [first] = curves;
  const [low, high] = [Math.min(...first.prediction), Math.max(...first.prediction)];
  const gap = first.missing === null ? "" : ` Where it is missing: ${number(first.missing)}.`;
  const words = curves.length > 1 ? `A line for each of ${curves.length} outputs.` : `Between ${number(low)} and ${number(high)}. The band holds eight rows of ten; where it is wide, other columns change the effect.${gap}`;
  const node = figure(readable(name, 60), words, (plot) => {
    const traces = [];
    curves.forEach((curve, i) => {
      const tint = curves.length > 1 ? GROUP_COLOURS[i % GROUP_COLOURS.length] : colour("accent");
      if (curves.length === 1) {
        traces.push({ x: [...curve.value, ...[...curve.value].reverse()], y: [...curve.high, ...[...curve.low].reverse()], type: "scatter", mode: "lines", fill: "toself", line: { width: 0 }, fillcolor: tint, opacity: 0.15, hoverinfo: "skip" });
      }
      traces.push({ x: curve.value, y: curve.prediction, type: "scatter", mode: "lines+markers", name: plotText(curve.output, 20), line: { color: tint, width: 2 }, marker: { size: 4 },
        text: curve.count.map((n) => plural(n, "row", "rows")), hovertemplate: "%{x:.4~g}: %{y:.4~g}, about %{text}<extra></extra>" });
    });
    react(plot, traces, baseLayout({ showlegend: curves.length > 1, legend: ABOVE, xaxis: { title: { text: plotText(name, 30) } }, yaxis: { title: { text: "prediction" } } }), config);
  });
  node.id = `number-${data.numbers.indexOf(name)}`;
  return node;
}
