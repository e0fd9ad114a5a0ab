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
  group.addEventListener("focusin", (event) => {
    const here = items.find((item) => item.contains(event.target));
    if (here) items.forEach((item) => item.setAttribute("tabindex", item === here ? 0 : -1));
  });
  group.addEventListener("keydown", (event) => {
    if (event.altKey || event.ctrlKey || event.metaKey || event.shiftKey) return; // the browser's own
    const here = items.findIndex((item) => item.contains(event.target));
    const last = items.length - 1;
    const right = getComputedStyle(group).direction === "rtl" ? -1 : 1;
    const steps = { ArrowRight: right, ArrowLeft: -right, ArrowDown: across, ArrowUp: -across };
    const there = { Home: 0, End: last }[event.key] ?? (event.key in steps ? here + steps[event.key] : here);
    if (here < 0 || there === here) return;
    event.preventDefault();
    items[Math.min(last, Math.max(0, there))].focus();
  });
}

const RADIO = { role: "radio", group: "radiogroup", state: "aria-checked", class: "choice" };
const TAB = { role: "tab", group: "tablist", state: "aria-selected", class: "tabs" };

// A few choices side by side, one of which holds; to focus one is to choose it.
export function choice(label, options, value, change) {
  return chosenOf(RADIO, label, options, value, change);
}

export function tabList(label, options, value, change) {
  return chosenOf(TAB, label, options, value, change);
}

function chosenOf(kind, label, options, value, change) {
  const keys = Object.keys(options);
  const choose = (key) => {
    if (key === value) return;
    value = key;
    mark();
    change(key);
  };
  const items = keys.map((key) => {
    const pick = () => choose(key);
    const attributes = { type: "button", role: kind.role, "data-value": key, click: pick, focus: pick };
    return html("button", attributes, options[key]);
  });
  function mark() {
    items.forEach((item, number) => item.setAttribute(kind.state, keys[number] === value));
  }
  mark();
  const group = html("div", { role: kind.group, "aria-label": label, class: kind.class }, items);
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
