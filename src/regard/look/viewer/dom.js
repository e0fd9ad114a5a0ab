// Elements of a page and of a drawing, and arrow keys among those that belong together.

const SVG = "http://www.w3.org/2000/svg";

export function html(name, attributes, ...children) {
  return filled(document.createElement(name), attributes, children);
}

export function svg(name, attributes, ...children) {
  return filled(document.createElementNS(SVG, name), attributes, children);
}

// A function among the attributes listens to the event of its name.
function filled(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (typeof value === "function") element.addEventListener(name, value);
    else if (value !== null && value !== undefined && value !== false) element.setAttribute(name, value);
  }
  element.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return element;
}

// One of a group's items can be reached with the Tab key, the others from it with arrows, Home and End.
export function rove(group, items, { across = 1, chosen = 0 } = {}) {
  items.forEach((item, number) => item.setAttribute("tabindex", number === chosen ? 0 : -1));
  const steps = { ArrowRight: 1, ArrowLeft: -1, ArrowDown: across, ArrowUp: -across };
  group.addEventListener("focusin", (event) => {
    const here = items.find((item) => item.contains(event.target));
    if (here) items.forEach((item) => item.setAttribute("tabindex", item === here ? 0 : -1));
  });
  group.addEventListener("keydown", (event) => {
    const here = items.findIndex((item) => item.contains(event.target));
    const last = items.length - 1;
    const there = { Home: 0, End: last }[event.key] ?? (event.key in steps ? here + steps[event.key] : here);
    if (here < 0 || there === here) return;
    event.preventDefault();
    items[Math.min(last, Math.max(0, there))].focus();
  });
}

// A few choices side by side, one of which holds; to focus one is to choose it.
export function choice(label, options, value, change) {
  const keys = Object.keys(options);
  const items = keys.map((key) =>
    html("button", { type: "button", role: "radio", "data-value": key, click: () => choose(key) }, options[key]),
  );
  function choose(key) {
    items.forEach((item, number) => item.setAttribute("aria-checked", keys[number] === key));
    if (key !== value) change((value = key));
  }
  items.forEach((item, number) => {
    item.setAttribute("aria-checked", keys[number] === value);
    item.addEventListener("focus", () => choose(keys[number]));
  });
  const group = html("div", { role: "radiogroup", "aria-label": label, class: "choice" }, items);
  rove(group, items, { chosen: keys.indexOf(value) });
  return group;
}

// Of a line of isolated words, whose own direction tells the browser nothing: that of its first letter.
export function direction(text) {
  const letter = text.match(/\p{L}/u)?.[0] ?? "";
  const scripts =
    /[\p{Script=Hebrew}\p{Script=Arabic}\p{Script=Syriac}\p{Script=Thaana}\p{Script=Nko}\p{Script=Adlam}]/u;
  return scripts.test(letter) ? "rtl" : "ltr";
}

// How wide a text is in the viewer's font, to leave room for it in a drawing.
const measuring = document.createElement("canvas").getContext("2d");

export function widest(texts, size = 15) {
  measuring.font = `${size}px system-ui, "Noto Sans CJK KR", sans-serif`;
  return Math.ceil(Math.max(0, ...texts.map((text) => measuring.measureText(text).width)));
}
