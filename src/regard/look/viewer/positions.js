// The sinusoids that tell a Transformer where each token stands.

import { choice, html, svg, widest } from "./dom.js";
import { pixels } from "./pixels.js";
import { figure, shownToken, sides, unpack } from "./unpack.js";

const ROW = 22;

export function positionsPanel(sentence, state, say) {
  if (!sentence.positions) return { element: html("p", { class: "note" }, say.none) };
  const table = unpack(sentence.positions);
  const view = html("div", { class: "view" });
  const told = html("p", { class: "told" });
  const show = () => {
    const side = state.side === "source" ? sentence.source : sides(sentence, "decoder")[1];
    const names = side.tokens.map((token) => shownToken(token, say));
    view.replaceChildren(heatDrawing(table, names, Math.min(1000, view.clientWidth || 640), told, say));
    told.textContent = say.pointValue;
  };
  const change = (value) => {
    state.side = value;
    show();
  };
  const options = { source: say.source, target: say.target };
  const element = html(
    "div",
    { class: "positions" },
    html("p", { class: "note" }, say.positionsNote),
    html("div", { class: "choices" }, choice(say.side, options, state.side, change)),
    told,
    view,
  );
  return { element, drawn: show };
}

export function heatDrawing(table, names, room, told, say) {
  const size = table.shape[1];
  const left = widest(names) + 16;
  const width = Math.max(200, room - left - 4);
  const height = ROW * names.length;
  const image = svg("image", {
    x: left,
    y: 0,
    width,
    height,
    preserveAspectRatio: "none",
    "image-rendering": "pixelated",
    href: pixels(table.values, size, names.length).toDataURL(),
  });
  image.addEventListener("pointermove", (event) => {
    const box = image.getBoundingClientRect();
    const position = Math.min(names.length - 1, Math.floor(((event.clientY - box.top) / box.height) * names.length));
    const dimension = Math.min(size - 1, Math.floor(((event.clientX - box.left) / box.width) * size));
    const value = figure(table.values[position * size + dimension], 3);
    told.textContent = say.value(names[position], position, dimension, value);
  });
  const label = (text, number) => svg("text", { x: left - 8, y: ROW * (number + 0.5) + 5, "text-anchor": "end" }, text);
  const ticks = [0, size / 2, size - 1].map((dimension) =>
    svg(
      "text",
      {
        class: "figure",
        x: left + (width * dimension) / size,
        y: height + 18,
        "text-anchor": dimension === size - 1 ? "end" : "start",
      },
      `${say.dimension} ${dimension}`,
    ),
  );
  const total = left + width + 4;
  return svg(
    "svg",
    {
      class: "heat",
      viewBox: `0 0 ${total} ${height + 26}`,
      width: total,
      height: height + 26,
      role: "img",
      "aria-label": say.positionsNote,
    },
    image,
    names.map(label),
    room < 480 ? ticks.filter((_, number) => number !== 1) : ticks,
  );
}
