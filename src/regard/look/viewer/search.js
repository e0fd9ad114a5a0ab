// The beam search as a tree, what it found, and what greedy search would have said.

import { html, svg, widest } from "./dom.js";
import { figure, shownToken } from "./unpack.js";

const ROW = 46;
const BETWEEN = 34;
const END = "</s>";

export function searchPanel(sentence, _, say) {
  const { branches, n_best: found, greedy, target } = sentence;
  if (!branches.length) return { element: html("div", { class: "search" }, writtenSteps(sentence, say)) };
  const finished = branches.filter((branch) => branch.token === END);
  const best = finished.reduce((one, other) => (other.score > one.score ? other : one));
  const path = pathTo(branches, best);
  const chosen = path.map((branch) => branch.token);
  const beam = Math.max(...steps(branches).map((step) => step.filter((branch) => branch.token !== END).length), 1);
  const tree = treeDrawing(branches, new Set(path), say);
  const other = chosen.join("\n") === target.tokens.join("\n") ? null : html("p", { class: "note" }, say.searchOther);
  const element = html(
    "div",
    { class: "search" },
    writtenSteps(sentence, say),
    html("p", { class: "note" }, say.searchNote(beam)),
    other,
    html("div", { class: "view scroll", tabindex: 0, role: "region", "aria-label": say.tree }, tree),
    html(
      "div",
      { class: "outcomes" },
      html(
        "div",
        {},
        html("h3", {}, say.found),
        html(
          "ol",
          { class: "found" },
          found.map((output) => proposal(output, sentence.languages, say)),
        ),
      ),
      html(
        "div",
        {},
        html("h3", {}, say.greedy),
        html(
          "ul",
          { class: "found greedy" },
          proposal(greedy, sentence.languages, say, greedy.text === found[0].text ? say.same : say.differs),
        ),
        html("p", { class: "note" }, say.greedyNote),
      ),
    ),
  );
  return { element };
}

// The tokens that each step wrote together, of a search that writes several a step; null of any other.
function writtenSteps({ steps: stepOf, target }, say) {
  if (!stepOf) return null;
  const last = Math.max(...stepOf);
  const rows = Array.from({ length: last }, (_, step) =>
    html(
      "li",
      {},
      target.tokens
        .filter((_, place) => stepOf[place] === step + 1)
        .map((token) => shownToken(token, say))
        .join(" "),
    ),
  );
  return html("div", {}, html("p", { class: "note" }, say.stepsNote(stepOf.length, last)), html("ol", { class: "steps" }, rows));
}

function proposal(output, languages, say, remark) {
  const figures = [
    `${say.score} ${figure(output.score, 3)}`,
    `${say.logProbability} ${figure(output.log_probability, 3)}`,
  ];
  return html(
    "li",
    {},
    html("bdi", { class: "text", lang: languages?.[1] }, output.text || "∅"),
    html("span", { class: "figures" }, [...figures, ...(remark ? [remark] : [])].join(" · ")),
  );
}

function steps(branches) {
  const columns = [];
  for (const branch of branches) (columns[branch.step - 1] ??= []).push(branch);
  return columns;
}

function pathTo(branches, branch) {
  return branch.parent === null ? [branch] : [...pathTo(branches, branches[branch.parent]), branch];
}

// Those that end stand beside those that go on, so that no step is higher than the beam is wide.
function apart(step) {
  const [ended, going] = [true, false].map((end) => step.filter((branch) => (branch.token === END) === end));
  return [going, ended].filter((column) => column.length);
}

// A column is a step, with the best hypothesis on top; a line leads from each to the one that it continues.
function treeDrawing(branches, path, say) {
  const columns = steps(branches);
  const places = new Map();
  const start = { x: 0, right: widest([say.start]) + 16, y: ROW / 2 };
  let x = start.right + BETWEEN;
  for (const column of columns.flatMap(apart)) {
    const width = Math.max(widest(column.map((branch) => shownToken(branch.token, say))), 42) + 16;
    column.forEach((branch, rank) => places.set(branch, { x, right: x + width, y: ROW * (rank + 0.5) }));
    x += width + BETWEEN;
  }
  const continued = new Set(branches.map((branch) => branch.parent));
  const kind = (branch, number) =>
    path.has(branch) ? "best" : branch.token === END || continued.has(number) ? "kept" : "given-up";
  const edges = branches.map((branch, number) => {
    const from = branch.parent === null ? start : places.get(branches[branch.parent]);
    const to = places.get(branch);
    const bend = BETWEEN / 2;
    const d = `M${from.right} ${from.y}C${from.right + bend} ${from.y} ${to.x - bend} ${to.y} ${to.x} ${to.y}`;
    return svg("path", { class: kind(branch, number), d });
  });
  const nodes = branches.map((branch, number) => {
    const { x: left, right, y } = places.get(branch);
    const ended = branch.token === END;
    const worth = figure(ended ? branch.score : branch.log_probability, 2);
    return svg(
      "g",
      { class: `node ${kind(branch, number)}${ended ? " ended" : ""}`, "data-branch": number },
      svg("rect", { x: left, y: y - 18, width: right - left, height: 36, rx: 7 }),
      svg("text", { x: (left + right) / 2, y: y - 1, "text-anchor": "middle" }, shownToken(branch.token, say)),
      svg("text", { class: "figure", x: (left + right) / 2, y: y + 13, "text-anchor": "middle" }, worth),
    );
  });
  const [width, height] = [x - BETWEEN + 4, ROW * Math.max(...columns.flatMap(apart).map((column) => column.length)) + 4];
  const said = [...path].map((branch) => shownToken(branch.token, say)).join(" ");
  return svg(
    "svg",
    {
      class: "tree",
      viewBox: `-2 -2 ${width} ${height}`,
      width,
      height,
      role: "img",
      "aria-label": `${say.tree}: ${said}`,
    },
    svg("g", { class: "edges" }, edges),
    svg(
      "g",
      { class: "node kept" },
      svg("text", { x: start.right / 2, y: start.y + 5, "text-anchor": "middle" }, say.start),
    ),
    nodes,
  );
}
