// A click on a word of the translation, or Enter on it, offers other words in its place; each with what then follows.

import { html, rove } from "/look/dom.js";
import { ask } from "./server.js";
import { say } from "./strings.js";

const percentOf = (probability) => `${(100 * probability).toFixed(probability < 0.0995 ? 1 : 0)} %`;

// `present` gives the answer that is shown, and `choose` takes the text with another word.
export function otherWords(shown, present, choose) {
  const { field } = shown;
  let menu = null;
  let asking = null;

  function close(focus = false) {
    asking?.abort();
    menu?.remove();
    menu = asking = null;
    if (focus) field.focus();
  }
  async function offer(number) {
    close();
    const answer = present();
    const place = number === null ? null : shown.place(number);
    if (!answer || !place || answer.left || answer.over.signal.aborted) return;
    const own = (asking = new AbortController());
    const signal = AbortSignal.any([own.signal, answer.over.signal]);
    const { q, source, target, force } = answer;
    const asked = { q, source, target, force, beginning: field.value.slice(0, place.start) };
    open(place, html("p", { class: "note", role: "status" }, say().wordsWait));
    try {
      const { words } = await ask("/words", asked, signal);
      if (own === asking) open(place, ...doubt(place), ...items(words, place.word, target));
    } catch (error) {
      if (own !== asking || error.name === "AbortError") return;
      open(place, html("p", { class: "note", role: "status" }, say().wordsFailed));
    }
  }
  function doubt({ probability }) {
    return probability === undefined ? [] : [html("p", { class: "note" }, say().weak(percentOf(probability)))];
  }
  function items(words, present, lang) {
    const others = words.filter(({ word }) => word !== present);
    if (!others.length) return [html("p", { class: "note", role: "status" }, say().wordsNone)];
    const buttons = others.map(({ word, probability, text }) => {
      const take = () => {
        close(true);
        choose(text);
      };
      return html(
        "button",
        { type: "button", role: "menuitem", click: take },
        html("bdi", { lang }, word),
        html("span", { class: "figures" }, percentOf(probability)),
      );
    });
    const group = html("div", { role: "menu", "aria-label": say().wordsMenu(present) }, buttons);
    rove(group, buttons);
    queueMicrotask(() => document.activeElement === field && buttons[0].focus());
    return [group];
  }
  function open({ element }, ...content) {
    menu?.remove();
    menu = html("div", { class: "words-menu" }, ...content);
    menu.addEventListener("keydown", (event) => event.key === "Escape" && close(true));
    const box = element.getBoundingClientRect();
    document.body.append(menu);
    const left = Math.min(box.left, document.documentElement.clientWidth - menu.offsetWidth - 12);
    menu.style.insetInlineStart = "auto";
    menu.style.left = `${Math.max(12, left) + scrollX}px`;
    menu.style.top = `${box.bottom + 6 + scrollY}px`;
  }
  field.addEventListener("click", (event) => {
    if (field.readOnly && (field.selectionStart === field.selectionEnd || event.pointerType === "touch")) {
      offer(shown.under(event.clientX, event.clientY));
    }
  });
  field.addEventListener("keydown", (event) => {
    if (event.key === "Escape") close();
    if (event.key !== "Enter" || !field.readOnly) return;
    event.preventDefault();
    offer(shown.atCaret());
  });
  document.addEventListener("pointerdown", (event) => menu && !menu.contains(event.target) && close());
  return close;
}
