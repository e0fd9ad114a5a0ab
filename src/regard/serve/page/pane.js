// A text whose words can light up. Behind the text field lies a mirror with the same text, unseen but for the light; it
// also makes the field as high as its text.

import { html } from "/look/dom.js";

// Words as the server counts them: what Python's str.split gives.
const WORD = /[^\t-\r\x1c-\x20\x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]+/g;

export function pane(box) {
  const [field, mirror] = [box.querySelector("textarea"), box.querySelector(".mirror")];
  let spelt = null; // the words' elements and places, if they have been needed

  function reflect() {
    spelt = null;
    mirror.textContent = `${field.value}\u200b`; // a line break at the end has a line of its own, too
  }
  function words() {
    if (spelt) return spelt;
    const found = [...field.value.matchAll(WORD)];
    spelt = found.map(({ 0: word, index }, number) => ({
      start: index,
      end: index + word.length,
      element: html("span", { "data-word": number }, word),
    }));
    const parts = spelt.flatMap(({ start, element }, n) => [field.value.slice(spelt[n - 1]?.end ?? 0, start), element]);
    mirror.replaceChildren(...parts, `${field.value.slice(spelt.at(-1)?.end ?? 0)}\u200b`);
    return spelt;
  }
  reflect();
  field.addEventListener("input", reflect);
  return {
    field,
    set(text) {
      field.value = text;
      field.setSelectionRange(0, 0);
      reflect();
    },
    light(numbers) {
      mirror.querySelectorAll(".lit").forEach((element) => element.classList.remove("lit"));
      if (numbers.size) words().forEach(({ element }, number) => element.classList.toggle("lit", numbers.has(number)));
    },
    underline(weak) {
      for (const { word, probability } of weak) {
        words()[word]?.element.classList.add("weak");
        if (words()[word]) words()[word].probability = probability;
      }
    },
    // The number of the word at a place of the screen; null if there is none.
    under(x, y) {
      words();
      const hit = document.elementsFromPoint(x, y).find((element) => element.parentElement === mirror);
      return hit ? Number(hit.dataset.word) : null;
    },
    atCaret() {
      const found = words().findIndex(({ start, end }) => start <= field.selectionStart && field.selectionStart <= end);
      return found < 0 ? null : found;
    },
    // Where a word stands: its text, its beginning and its element; and its probability, if it is underlined.
    place(number) {
      const { start, end, element, probability } = words()[number] ?? {};
      return element ? { start, word: field.value.slice(start, end), element, probability } : null;
    },
    // Select the word so many after the one at the caret.
    step(by) {
      const here = words().findIndex(({ end }) => field.selectionStart < end);
      const there = here < 0 ? words().length - 1 : here + (field.selectionStart === field.selectionEnd ? 0 : by);
      const word = words()[Math.min(words().length - 1, Math.max(0, there))];
      if (word) field.setSelectionRange(word.start, word.end);
    },
  };
}
