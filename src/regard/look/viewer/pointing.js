// To point at a token of a drawing, or to focus one that looks, shows its weights alone and tells the largest.
// It listens around the drawing: an SVG element that listens to focus can be focused itself.

import { html, rove } from "./dom.js";
import { percent } from "./unpack.js";

const TOLD = 4;

export function pointing(drawing, weights, left, right, told, say) {
  const [rows, columns] = ["row", "column"].map((side) => [...drawing.querySelectorAll(`.token[data-side="${side}"]`)]);
  const bundles = drawing.querySelectorAll(".bundle");
  const weight = (row, column) => weights.values[row * weights.columns + column];
  const names = { row: left, column: right };
  const tokens = { row: rows, column: columns };
  const opposite = { row: "column", column: "row" };

  // Between a token and each of the other side.
  const weightsOf = (side, number) =>
    names[opposite[side]].map((_, other) => (side === "row" ? weight(number, other) : weight(other, number)));

  function sentence(side, number) {
    const parts = weightsOf(side, number)
      .map((value, other) => [value, names[opposite[side]][other]])
      .sort(([one], [another]) => another - one)
      .slice(0, TOLD)
      .filter(([value]) => value >= 0.0005)
      .map(([value, name]) => `${name} ${percent(value)}`);
    return (side === "row" ? say.looks : say.looked)(names[side][number], parts.join(", "));
  }

  function clear() {
    delete drawing.dataset.focus;
    drawing.querySelectorAll(".active").forEach((part) => part.classList.remove("active"));
    drawing.querySelectorAll(".mark").forEach((mark) => mark.setAttribute("fill-opacity", 0));
    told.textContent = say.point;
  }
  function light(side, number) {
    clear();
    drawing.dataset.focus = side;
    const lit = side === "row" ? [bundles[number]] : drawing.querySelectorAll(`.bundle > [data-column="${number}"]`);
    [tokens[side][number], ...lit].forEach((part) => part.classList.add("active"));
    weightsOf(side, number).forEach((value, other) => {
      tokens[opposite[side]][other].firstChild.setAttribute("fill-opacity", (0.45 * value).toFixed(3));
    });
    told.textContent = sentence(side, number);
  }
  function point(event) {
    const token = event.target.closest(".token");
    const cell = event.target.closest(".cells rect");
    if (token) light(token.dataset.side, Number(token.dataset.number));
    else if (cell) {
      const [row, column] = [Number(cell.dataset.row), Number(cell.dataset.column)];
      light("row", row);
      columns[column].classList.add("active");
      told.textContent = say.looks(left[row], `${right[column]} ${percent(weight(row, column))}`);
    } else if ("focus" in drawing.dataset) clear();
  }
  rows.forEach((token, number) => {
    token.setAttribute("role", "img");
    token.setAttribute("aria-label", sentence("row", number));
  });
  const frame = html("div", { pointerover: point, focusin: point, pointerleave: clear, focusout: clear }, drawing);
  rove(frame, rows);
  clear();
  return frame;
}
