// The attention of one head, chosen from all: as lines or as a matrix, between tokens or between words.

import { choice, html } from "./dom.js";
import { headGrid } from "./heads.js";
import { lineDrawing } from "./lines.js";
import { matrixDrawing } from "./matrix.js";
import { pointing } from "./pointing.js";
import { betweenWords, ofHead, shownToken, shownWord, sides, unpack } from "./unpack.js";

export function attentionPanel(sentence, state, say) {
  const kinds = Object.keys(sentence.attention);
  if (!kinds.length) return { element: html("p", { class: "note" }, say.none) };
  const tensors = Object.fromEntries(kinds.map((kind) => [kind, unpack(sentence.attention[kind])]));
  settle(state, tensors);
  const title = html("h3", {});
  const note = html("p", { class: "note" });
  const told = html("p", { class: "told", "aria-live": "polite" });
  const view = html("div", { class: "view" });
  const show = () => {
    const { kind, layer, head, form, unit } = state;
    title.textContent = say.head(say.kinds[kind], layer + 1, head + 1);
    const explained = (form === "lines" ? say.explain : say.explainMatrix)[kind];
    note.textContent = `${explained} ${unit === "words" ? say.sumsWords : say.sums}`;
    const [rows, columns] = sides(sentence, kind);
    const shown = unit === "words" ? shownWord : shownToken;
    const [left, right] = [rows, columns].map((side) => side[unit].map((name) => shown(name, say)));
    const tokens = ofHead(tensors[kind], layer, head);
    const weights = unit === "words" ? betweenWords(tokens, rows.word_of, columns.word_of) : tokens;
    const titles = [kind === "encoder" ? say.source : say.target, kind === "decoder" ? say.target : say.source];
    const draw = form === "lines" ? lineDrawing : matrixDrawing;
    const drawing = draw(weights, left, right, Math.min(760, view.clientWidth || 640), titles);
    drawing.setAttribute("role", "group");
    drawing.setAttribute("aria-label", title.textContent);
    view.replaceChildren(pointing(drawing, weights, left, right, told, say));
  };
  const choose = (kind, layer, head) => {
    Object.assign(state, { kind, layer, head });
    show();
  };
  const change = (key) => (value) => {
    state[key] = value;
    show();
  };
  const panel = html(
    "div",
    { class: "attention" },
    html(
      "div",
      { class: "overview" },
      html("h3", {}, say.heads),
      headGrid(tensors, state, choose, say),
      html("p", { class: "note" }, say.headsNote),
    ),
    html(
      "div",
      { class: "chosen" },
      title,
      html(
        "div",
        { class: "choices" },
        choice(say.form, say.forms, state.form, change("form")),
        choice(say.unit, say.units, state.unit, change("unit")),
      ),
      note,
      told,
      view,
    ),
  );
  return { element: panel, drawn: show };
}

// A choice that this model has; at first cross-attention, in the layer that gives the alignment.
function settle(state, tensors) {
  if (!(state.kind in tensors)) state.kind = "cross" in tensors ? "cross" : Object.keys(tensors)[0];
  const [layers, heads] = tensors[state.kind].shape;
  state.layer = Math.min(state.layer ?? Math.max(0, layers - 2), layers - 1);
  state.head = Math.min(state.head, heads - 1);
}
