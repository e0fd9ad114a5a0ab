// Attention as lines between tokens: those that look on the left, those that are looked at on the right.

import { svg, widest } from "./dom.js";

const TOP = 30;
const LEAST = 0.004; // a weaker line can't be seen

export function lineDrawing(weights, left, right, room, titles) {
  const [before, after] = [left, right].map((names, side) =>
    Math.max(widest(names) + 20, 1.15 * widest([titles[side]], 13) + 16),
  );
  const pitch = Math.max(left.length, right.length) > 40 ? 21 : 26;
  const gap = Math.max(110, Math.min(320, room - before - after));
  const [width, height] = [before + gap + after, TOP + pitch * Math.max(left.length, right.length)];
  const [from, to] = [before, before + gap];
  const middle = (number, count) => TOP + pitch * (number + 0.5) + (height - TOP - count * pitch) / 2;
  const bundles = left.map((_, row) => {
    const y = middle(row, left.length);
    const strands = right.map((_, column) => {
      const weight = weights.values[row * weights.columns + column];
      if (weight < LEAST) return null;
      const there = middle(column, right.length);
      const bend = gap * 0.45;
      return svg("path", {
        d: `M${from} ${y}C${from + bend} ${y} ${to - bend} ${there} ${to} ${there}`,
        "stroke-opacity": weight.toFixed(3),
        "data-row": row,
        "data-column": column,
        "data-weight": weight.toFixed(5),
      });
    });
    return svg("g", { class: "bundle" }, strands);
  });
  const label = (text, number, count, x, anchor, kind) => {
    const y = middle(number, count);
    const start = anchor === "end" ? 0 : to;
    return svg(
      "g",
      { class: "token", "data-side": kind, "data-number": number },
      svg("rect", {
        class: "mark",
        x: start + 2,
        y: y - pitch / 2 + 1,
        width: (anchor === "end" ? before : after) - 4,
        height: pitch - 2,
        rx: 5,
      }),
      svg("text", { x, y: y + 5, "text-anchor": anchor }, text),
    );
  };
  return svg(
    "svg",
    { class: "lines", viewBox: `0 0 ${width} ${height}`, width, height },
    svg("text", { class: "title", x: from - 10, y: 16, "text-anchor": "end" }, titles[0]),
    svg("text", { class: "title", x: to + 10, y: 16 }, titles[1]),
    svg("g", { class: "weights strands" }, bundles),
    left.map((text, number) => label(text, number, left.length, from - 10, "end", "row")),
    right.map((text, number) => label(text, number, right.length, to + 10, "start", "column")),
  );
}
