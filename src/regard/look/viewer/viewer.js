// Inside a translation: attention, beam search, next tokens, positions.
//
//   import { mount } from "./viewer.js";
//   mount(element, look, { lang: "ko", template: "/look/page.html" });
//
// `look` is the JSON of a Look. Options: lang, of the interface, by default the browser's; template, the address of the
// empty page (look/page.py), for a viewer in a page of another kind; words, whether to show the sentence and its
// translation, unless the page around shows them. The element takes light or dark from data-theme, on
// itself or around it, or from the system.

import { attentionPanel } from "./attention.js";
import { html, tabList } from "./dom.js";
import { nextPanel } from "./next.js";
import { positionsPanel } from "./positions.js";
import { savePage, savePng, saveSvg } from "./save.js";
import { searchPanel } from "./search.js";
import { strings } from "./strings.js";
import { isTag, ofHead, shownToken, unpack } from "./unpack.js";
import { walkPanel } from "./walk.js";
import { wordLines } from "./words.js";

const PANELS = {
  attention: attentionPanel,
  search: searchPanel,
  next: nextPanel,
  positions: positionsPanel,
  walk: walkPanel,
};

export function mount(element, look, { lang = navigator.language, template, words = true } = {}) {
  const say = strings(lang);
  const state = {
    sentence: 0,
    tab: "attention",
    kind: "cross",
    layer: null,
    head: 0,
    form: "lines",
    unit: "tokens",
    step: 0,
    side: "source",
  };
  element.classList.add("regard-look");
  element.lang = /^ko\b/i.test(lang) ? "ko" : "en";
  if (!look || !look.sentences.length) {
    element.replaceChildren(html("p", { class: "note" }, say.nothing));
    return null;
  }
  const head = html("div", {});
  const panel = html("div", { role: "tabpanel", class: "panel", tabindex: -1 });
  let drawn;

  function show() {
    const sentence = { ...look.sentences[state.sentence], languages: look.languages };
    const shown = PANELS[state.tab](sentence, state, say);
    panel.replaceChildren(shown.element);
    panel.setAttribute("aria-label", say.tabs[state.tab]);
    drawn = shown.drawn; // draws anew, for the width that there is
    drawn?.();
  }
  const choose = (number) => {
    state.sentence = number;
    const sentence = look.sentences[number];
    head.replaceChildren(words ? wordLines(sentence, look.languages, say) : "", tokenNotes(sentence, say));
    show();
  };
  element.replaceChildren(
    html("header", {}, html("h2", {}, say.look), saving(panel, look, template, say)),
    menu(look.sentences, choose, say) ?? "",
    head,
    tabList(say.look, say.tabs, state.tab, (tab) => {
      state.tab = tab;
      show();
    }),
    panel,
  );
  choose(0);

  let width = panel.clientWidth;
  const resized = new ResizeObserver(() => {
    if (panel.clientWidth === width) return;
    width = panel.clientWidth;
    drawn?.();
  });
  resized.observe(panel);
  return {
    // The weights of a head, counted from 0, row by row.
    weights: (kind, layer, head) => [
      ...ofHead(unpack(look.sentences[state.sentence].attention[kind]), layer, head).values,
    ],
    destroy() {
      resized.disconnect();
      element.replaceChildren();
    },
  };
}

// What the tokens mean that are no text: the language asked for, and bytes.
function tokenNotes({ source, target }, say) {
  const byte = [...source.tokens, ...target.tokens].find((token) => /^<0x..>$/.test(token));
  const said = [
    ...(isTag(source.tokens[0]) ? [say.tagNote(shownToken(source.tokens[0], say))] : []),
    ...(byte ? [say.byteNote(byte)] : []),
  ];
  return said.length ? html("p", { class: "note tag" }, said.join(" ")) : "";
}

function menu(sentences, choose, say) {
  if (sentences.length < 2) return null;
  const options = sentences.map((sentence, number) =>
    html("option", { value: number }, `${number + 1}. ${sentence.source.text}`),
  );
  const select = html("select", { change: () => choose(Number(select.value)) }, options);
  return html("label", { class: "menu" }, say.sentence, select);
}

function saving(panel, look, template, say) {
  const drawing = () => panel.querySelector(".view svg");
  const button = (name, label, click) =>
    html("button", { type: "button", title: label, "aria-label": label, "data-save": name, click }, name);
  return html(
    "div",
    { class: "save", role: "group", "aria-label": say.save },
    html("span", { "aria-hidden": "true" }, say.save),
    button("SVG", say.saveSvg, () => drawing() && saveSvg(drawing())),
    button("PNG", say.savePng, () => drawing() && savePng(drawing())),
    button("HTML", say.saveHtml, () => savePage(look, template)),
  );
}
