// Attention as a matrix: a row for each token that looks, a column for each that is looked at.

import { svg, widest } from "./dom.js";

export function matrixDrawing(weights, rows, columns, room) {
  const least = columns.length > 30 ? 11 : 14;
  const cell = Math.max(least, Math.min(32, Math.floor((room - widest(rows) - 58) / columns.length)));
  const small = cell < 14 ? 10 : cell < 20 ? 12 : 15;
  const before = widest(rows, small) + 18;
  const above = Math.ceil(widest(columns, small) * 0.82) + 22;
  const [width, height] = [before + cell * columns.length + above * 0.6, above + cell * rows.length + 2];
  const cells = rows.map((_, row) =>
    svg(
      "g",
      { class: "bundle" },
      columns.map((_, column) => {
        const weight = weights.values[row * weights.columns + column];
        return svg("rect", {
          x: before + cell * column + 0.5,
          y: above + cell * row + 0.5,
          width: cell - 1,
          height: cell - 1,
          rx: cell > 18 ? 3 : 1,
          "fill-opacity": weight.toFixed(4),
          "data-row": row,
          "data-column": column,
          "data-weight": weight.toFixed(5),
        });
      }),
    ),
  );
  const rowLabel = (text, number) =>
    svg(
      "g",
      { class: "token", "data-side": "row", "data-number": number },
      svg("rect", { class: "mark", x: 1, y: above + cell * number, width: before - 6, height: cell, rx: 4 }),
      svg(
        "text",
        { x: before - 10, y: above + cell * (number + 0.5) + small / 3, "text-anchor": "end", "font-size": small },
        text,
      ),
    );
  const columnLabel = (text, number) => {
    const at = `translate(${before + cell * (number + 0.5) + small / 4} ${above - 8}) rotate(-55)`;
    return svg(
      "g",
      { class: "token", "data-side": "column", "data-number": number, transform: at },
      svg("rect", { class: "mark", x: -3, y: -small, width: widest([text], small) + 8, height: small + 6, rx: 4 }),
      svg("text", { "font-size": small }, text),
    );
  };
  const frame = { x: before, y: above, width: cell * columns.length, height: cell * rows.length, rx: 4 };
  return svg(
    "svg",
    { class: "matrix", viewBox: `0 0 ${width} ${height}`, width, height },
    svg("rect", { class: "frame", ...frame }),
    svg("g", { class: "weights cells" }, cells),
    rows.map(rowLabel),
    columns.map(columnLabel),
  );
}
