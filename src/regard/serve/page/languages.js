// The two menus of languages: which can be chosen, what was detected, and the address, which tells them to others.

import { html } from "/look/dom.js";
import { named, say } from "./strings.js";

const AUTO = "auto";
const SURE = 50; // of 100

// `languages` is what the server says: code, name, targets. `changed` is called after a choice.
export function languageMenus(languages, usual, changed) {
  const [source, target, swap] = ["source", "target", "swap"].map((id) => document.getElementById(id));
  const names = Object.fromEntries(languages.map(({ code, name }) => [code, name]));
  const reached = Object.fromEntries(
    languages.map(({ code, targets }) => [code, targets.filter((other) => other !== code)]),
  );
  const sources = Object.keys(reached).filter((code) => reached[code].length);
  reached[AUTO] = Object.keys(reached).filter((code) => sources.some((other) => reached[other].includes(code)));
  const chosen = { source: AUTO, target: usual };
  let detected = null;

  const called = (code) => named(code, names[code]);
  const backwards = () => {
    const from = chosen.source === AUTO ? detected?.language : chosen.source;
    return from && from !== chosen.target && reached[chosen.target].includes(from)
      ? { source: chosen.target, target: from }
      : null;
  };

  function show() {
    const fill = (menu, codes, value) => {
      menu.replaceChildren(...codes.map((code) => html("option", { value: code }, code === AUTO ? "" : called(code))));
      menu.value = value;
    };
    fill(source, [AUTO, ...sources], chosen.source);
    fill(target, reached[chosen.source], chosen.target);
    label();
  }
  function label() {
    const said = detected?.confidence < SURE ? say().assumed : say().detected;
    const found = chosen.source === AUTO && detected;
    source.options[0].textContent = found ? said(called(found.language)) : say().detect;
    swap.disabled = !backwards();
  }
  function choose(wanted) {
    const before = chosen.source;
    chosen.source = wanted.source === AUTO || sources.includes(wanted.source) ? wanted.source : AUTO;
    const possible = reached[chosen.source];
    chosen.target = [wanted.target, before, usual, possible[0]].find((code) => possible.includes(code));
    detected = null;
    show();
  }
  function change(wanted) {
    choose(wanted);
    history.replaceState(null, "", `?${new URLSearchParams(chosen)}`);
    changed();
  }
  source.addEventListener("change", () => change({ ...chosen, source: source.value }));
  target.addEventListener("change", () => change({ ...chosen, target: target.value }));
  const asked = new URLSearchParams(location.search);
  choose({ source: asked.get("source") ?? AUTO, target: asked.get("target") ?? usual });

  return {
    chosen,
    called,
    say: show,
    backwards,
    change,
    // What the server took a text for: a language and how sure it is.
    detect(found) {
      detected = found;
      label();
    },
  };
}
