// More about the translation, under it: a tab for each, shown when it is chosen.

import { html, rove } from "/look/dom.js";
import { say } from "/page/strings.js";

// `panels` shows each tab's content, by key.
export function tabs(panels) {
  const [list, panel] = ["tabs", "panel"].map((id) => document.getElementById(id));
  const keys = Object.keys(panels);
  let chosen = keys[0];

  const items = keys.map((key) => {
    const choose = () => key !== chosen && (chosen = key) && show();
    const attributes = { type: "button", role: "tab", id: `tab-${key}`, "aria-controls": "panel" };
    return html("button", { ...attributes, click: choose, focus: choose });
  });
  list.replaceChildren(...items);
  rove(list, items);

  function mark() {
    items.forEach((item, number) => {
      item.textContent = say().tabs[keys[number]];
      item.setAttribute("aria-selected", keys[number] === chosen);
    });
    panel.setAttribute("aria-labelledby", `tab-${chosen}`);
  }
  function show() {
    mark();
    panels[chosen]();
  }
  return { show, chosen: () => chosen };
}
