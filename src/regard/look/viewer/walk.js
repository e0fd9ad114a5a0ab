// One sentence through the model, step by step: tokens, positions, attention, feed-forward, the next token, and again.

import { direction, html, svg, widest } from "./dom.js";
import { lineDrawing } from "./lines.js";
import { barDrawing } from "./next.js";
import { heatDrawing } from "./positions.js";
import { ofHead, percent, shownToken, sides, unpack } from "./unpack.js";

const ROW = 26;
const WIDEST = 760;

// Each step draws its picture for the width that there is; a step that a model has nothing for is left out.
const STEPS = {
  tokens: ({ sentence, say }) => chips(sentence.source.tokens, say, sentence.source.text),
  positions: ({ sentence, room, say }) =>
    heatDrawing(unpack(sentence.positions), names(sentence.source.tokens, say), room, html("p", {}), say),
  attention: (scene) => heads(scene, "encoder"),
  feedForward: (scene) => active(scene),
  cross: (scene) => heads(scene, "cross"),
  next: ({ sentence, state, room, say }) =>
    barDrawing(sentence.probable[state.step], sentence.target.tokens[state.step], room, say),
  again: ({ sentence, say }) => chips(sentence.target.tokens, say, sentence.target.text),
};

export function walkPanel(sentence, state, say) {
  const keys = Object.keys(STEPS).filter((key) => !missing(sentence, key));
  state.step = Math.min(state.step, sentence.target.tokens.length - 1);
  let here = Math.min(state.walk ?? 0, keys.length - 1);

  const title = html("h3", {});
  const note = html("p", { class: "note" });
  const view = html("div", { class: "view" });
  const count = html("output", {});
  const follow = html("div", { class: "strip", role: "group", "aria-label": say.walkFollow });
  const button = (label, by) =>
    html("button", { type: "button", class: "step", click: () => go(here + by) }, label);
  const [back, on] = [button(say.walkBack, -1), button(say.walkOn, 1)];

  function go(number) {
    here = state.walk = Math.max(0, Math.min(keys.length - 1, number));
    draw();
    (here === keys.length - 1 ? back : on).focus({ preventScroll: true });
  }
  function draw() {
    const key = keys[here];
    const token = shownToken(sentence.target.tokens[state.step], say);
    title.textContent = `${here + 1}. ${say.walk[key].title}`;
    note.textContent = say.walk[key].text(token, sentence);
    count.textContent = say.walkCount(here + 1, keys.length);
    [back.disabled, on.disabled] = [here === 0, here === keys.length - 1];
    follow.hidden = !["cross", "next"].includes(key);
    if (!follow.hidden) follow.replaceChildren(...choices());
    const room = Math.min(WIDEST, view.clientWidth || 640);
    view.replaceChildren(STEPS[key]({ sentence, state, room, say }));
  }
  // Which token of the translation is followed.
  function choices() {
    follow.dir = direction(sentence.target.text);
    return sentence.target.tokens.map((token, number) => {
      const choose = () => {
        state.step = number;
        draw();
        follow.children[number].focus();
      };
      const attributes = { type: "button", class: "piece", "aria-pressed": number === state.step, click: choose };
      return html("button", attributes, html("bdi", {}, shownToken(token, say)));
    });
  }
  const element = html(
    "div",
    { class: "walk" },
    html("div", { class: "turn" }, back, on, count),
    html("div", { class: "told-step", "aria-live": "polite" }, title, note),
    follow,
    view,
  );
  return { element, drawn: draw };
}

function missing({ attention, positions, active: units }, key) {
  return (
    (key === "positions" && !positions) ||
    (key === "attention" && !attention.encoder) ||
    (key === "feedForward" && !units) ||
    (key === "cross" && !attention.cross)
  );
}

function names(tokens, say) {
  return tokens.map((token) => shownToken(token, say));
}

function chips(tokens, say, text) {
  const items = tokens.map((token) => html("li", { class: "piece" }, html("bdi", {}, shownToken(token, say))));
  return html("ol", { class: "strip chips", dir: direction(text) }, items);
}

// The heads of one layer together, as their mean: of the encoder's last layer, or of the layer that gives the alignment,
// where only the token that is followed looks.
function heads({ sentence, state, room, say }, kind) {
  const tensor = unpack(sentence.attention[kind]);
  const [layers, count] = tensor.shape;
  const layer = kind === "cross" ? Math.max(0, layers - 2) : layers - 1;
  const [rows, columns] = sides(sentence, kind);
  const mean = new Float32Array(rows.tokens.length * columns.tokens.length);
  for (let head = 0; head < count; head++) {
    ofHead(tensor, layer, head).values.forEach((weight, number) => (mean[number] += weight / count));
  }
  const width = columns.tokens.length;
  if (kind === "cross") mean.forEach((_, n) => Math.floor(n / width) !== state.step && (mean[n] = 0));
  const titles = [kind === "encoder" ? say.source : say.target, say.source];
  const [left, right] = [rows, columns].map((side) => names(side.tokens, say));
  const drawing = lineDrawing({ columns: width, values: mean }, left, right, room, titles);
  drawing.querySelectorAll(".mark").forEach((mark) => mark.remove()); // nothing is pointed at here
  drawing.setAttribute("role", "img");
  drawing.setAttribute("aria-label", say.walk[kind === "cross" ? "cross" : "attention"].title);
  return drawing;
}

// How many of a feed-forward network's units fire for each token, by layer.
function active({ sentence, room, say }) {
  const { shape, values } = unpack(sentence.active);
  const [layers, count] = shape;
  const tokens = names(sentence.source.tokens, say);
  const left = widest(tokens) + 16;
  const pitch = Math.max(56, Math.min(110, (room - left) / layers));
  const most = Math.max(...values, 0.01);
  const cells = tokens.flatMap((_, token) =>
    Array.from({ length: layers }, (__, layer) => {
      const share = values[layer * count + token];
      const [x, y] = [left + layer * pitch, ROW * (token + 1)];
      return svg(
        "g",
        { class: "bar weights", "data-share": share.toFixed(4) },
        svg("rect", { x, y: y + 5, width: Math.max(1, (pitch - 52) * (share / most)), height: ROW - 12, rx: 3 }),
        svg("text", { class: "figure", x: x + Math.max(1, (pitch - 52) * (share / most)) + 5, y: y + 17 }, percent(share)),
      );
    }),
  );
  const label = (text, row) => svg("text", { x: left - 10, y: ROW * (row + 1) + 18, "text-anchor": "end" }, text);
  const heads = Array.from({ length: layers }, (_, layer) =>
    svg("text", { class: "title", x: left + layer * pitch, y: 16 }, say.layer(layer + 1)),
  );
  const [width, height] = [left + layers * pitch, ROW * (tokens.length + 1)];
  return svg(
    "svg",
    { class: "bars", viewBox: `0 0 ${width} ${height}`, width, height, role: "img", "aria-label": say.walk.feedForward.title },
    heads,
    tokens.map(label),
    cells,
  );
}
