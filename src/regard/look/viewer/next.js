// What was most probable at each step of the translation.

import { direction, html, rove, svg, widest } from "./dom.js";
import { percent, shownToken } from "./unpack.js";

const ROW = 30;

export function nextPanel(sentence, state, say) {
  const tokens = sentence.target.tokens;
  const last = tokens.length - 1;
  state.step = Math.min(state.step, last);
  const view = html("div", { class: "view" });
  const counter = html("output", {});
  const remark = html("p", { class: "note" });
  const slider = html("input", { type: "range", min: 1, max: last + 1, "aria-label": say.stepLabel });
  const items = tokens.map((token, number) =>
    html(
      "button",
      { type: "button", class: "piece", focus: () => go(number), click: () => go(number) },
      html("bdi", {}, shownToken(token, say)),
    ),
  );
  const strip = html(
    "div",
    { class: "strip", role: "group", "aria-label": say.target, dir: direction(sentence.target.text) },
    items,
  );
  rove(strip, items, { chosen: state.step });

  function go(step) {
    state.step = step;
    slider.value = step + 1;
    slider.setAttribute("aria-valuetext", shownToken(tokens[step], say));
    counter.textContent = say.step(step + 1, last + 1);
    items.forEach((item, number) => {
      item.classList.toggle("after", number > step);
      item.setAttribute("aria-current", number === step ? "step" : "false");
    });
    const probable = sentence.probable[step];
    const among = probable.some(([token]) => token === tokens[step]);
    remark.textContent = among ? "" : say.notAmong;
    view.replaceChildren(barDrawing(probable, tokens[step], view.clientWidth, say));
  }
  slider.addEventListener("input", () => go(Number(slider.value) - 1));
  const element = html(
    "div",
    { class: "next" },
    html("p", { class: "note" }, say.nextNote),
    strip,
    html("div", { class: "slider" }, slider, counter),
    view,
    remark,
  );
  return { element, drawn: () => go(state.step) };
}

export function barDrawing(probable, written, room, say) {
  const names = probable.map(([token]) => shownToken(token, say));
  const left = Math.max(60, widest(names)) + 14;
  const whole = Math.max(120, Math.min(420, room - left - 80));
  const [width, height] = [left + whole + 80, ROW * probable.length];
  const rows = probable.map(([token, value], number) => {
    const y = ROW * number;
    const length = Math.max(1, whole * value);
    return svg(
      "g",
      { class: token === written ? "bar weights" : "bar", "data-token": token, "data-probability": value },
      svg("text", { x: left - 10, y: y + 20, "text-anchor": "end" }, names[number]),
      svg("rect", { x: left, y: y + 5, width: length, height: ROW - 10, rx: 3 }),
      svg("text", { class: "figure", x: left + length + 8, y: y + 19 }, percent(value)),
    );
  });
  const label = probable.map(([token, value], number) => {
    const told = `${names[number]} ${percent(value)}`;
    return token === written ? `${told} (${say.written})` : told;
  });
  return svg(
    "svg",
    { class: "bars", viewBox: `0 0 ${width} ${height}`, width, height, role: "img", "aria-label": label.join(", ") },
    rows,
  );
}
