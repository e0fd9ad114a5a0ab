// The two menus of languages: which can be chosen, what was detected, and the address, which tells them to others.
// A text that is in the target language already is translated the other way, until another text is typed.

import { html } from "/look/dom.js";
import { SURE } from "./answer.js";
import { named, say } from "./strings.js";

const AUTO = "auto";

// `languages` is what the server says: code, name, targets. `changed` is called after a choice.
export function languageMenus(languages, usual, changed) {
  const [source, target, swap] = ["source", "target", "swap"].map((id) => document.getElementById(id));
  const names = Object.fromEntries(languages.map(({ code, name }) => [code, name]));
  const reached = Object.fromEntries(
    languages.map(({ code, targets }) => [code, targets.filter((other) => other !== code)]),
  );
  const sources = Object.keys(reached).filter((code) => reached[code].length);
  reached[AUTO] = Object.keys(reached).filter((code) => sources.some((other) => reached[other].includes(code)));
  const spoken = navigator.languages.map((tag) => tag.split("-")[0]);
  const chosen = { source: AUTO, target: usual }; // as the menus show it
  let wanted = { ...chosen }; // as the visitor chose it
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
  function choose(asked) {
    const before = chosen.source;
    chosen.source = asked.source === AUTO || sources.includes(asked.source) ? asked.source : AUTO;
    const possible = reached[chosen.source];
    chosen.target = [asked.target, before, usual, possible[0]].find((code) => possible.includes(code));
    wanted = { ...chosen };
    detected = null;
    show();
  }
  // The languages for a text that is in the target language already; null if there are none.
  function turned({ source, target }) {
    const possible = (reached[target] ?? []).filter((code) => code !== target);
    const other = source === AUTO ? [...spoken, "en", usual, possible[0]].find((code) => possible.includes(code)) : source;
    if (!possible.includes(other)) return null;
    return source === AUTO ? { source, target: other } : { source: target, target: other };
  }
  function change(asked) {
    choose(asked);
    history.replaceState(null, "", `?${new URLSearchParams(chosen)}`);
    changed();
  }
  source.addEventListener("change", () => change({ ...chosen, source: source.value }));
  target.addEventListener("change", () => change({ ...chosen, target: target.value }));
  const asked = new URLSearchParams(location.search);
  // Who reads another language than English wants to read in that one.
  const own = spoken.find((code) => code !== "en" && reached[AUTO].includes(code));
  const first = spoken[0] === "en" ? usual : (own ?? usual);
  choose({ source: asked.get("source") ?? AUTO, target: asked.get("target") ?? first });

  return {
    chosen,
    wanted: () => wanted,
    turned,
    called,
    say: show,
    backwards,
    change,
    // The languages of an answer, and what the server took its text for: a language and how sure it is.
    answered({ source, target }, found) {
      const same = chosen.source === source && chosen.target === target;
      Object.assign(chosen, { source, target });
      detected = found;
      if (same) label();
      else show();
    },
  };
}
