// All heads of the model as small pictures, to choose one from.

import { html, rove } from "./dom.js";
import { pixels } from "./pixels.js";
import { ofHead } from "./unpack.js";

// By the square root of its weights, so that weak patterns can be seen, too.
const thumbnail = (weights) => pixels(weights.values, weights.columns, weights.rows, Math.sqrt);

// `choose` is called with a kind, a layer and a head, from 0.
export function headGrid(tensors, chosen, choose, say) {
  const items = [];
  const grid = html("div", { class: "heads", role: "radiogroup", "aria-label": say.heads });
  for (const [kind, tensor] of Object.entries(tensors)) {
    const [layers, heads] = tensor.shape;
    const block = html("div", { class: "block", "data-kind": kind });
    block.style.setProperty("--heads", heads);
    for (let layer = 0; layer < layers; layer++) {
      block.append(html("span", { class: "number", "aria-hidden": "true" }, `${layer + 1}`));
      for (let head = 0; head < heads; head++) {
        const label = say.head(say.kinds[kind], layer + 1, head + 1);
        const attributes = { type: "button", role: "radio", class: "thumbnail", "aria-label": label, title: label };
        const item = html("button", attributes, thumbnail(ofHead(tensor, layer, head)));
        item.addEventListener("click", () => item.focus());
        item.addEventListener("focus", () => mark(item) && choose(kind, layer, head));
        items.push(item);
        block.append(item);
      }
    }
    grid.append(html("div", {}, html("h4", {}, say.kinds[kind]), block));
    if (kind === chosen.kind) mark(items[items.length - layers * heads + chosen.layer * heads + chosen.head]);
  }
  function mark(item) {
    const changed = item.getAttribute("aria-checked") !== "true";
    for (const other of items) other.setAttribute("aria-checked", other === item);
    return changed;
  }
  const across = Object.values(tensors)[0].shape[1];
  const at = items.findIndex((item) => item.getAttribute("aria-checked") === "true");
  rove(grid, items, { across, chosen: Math.max(0, at) });
  return grid;
}
