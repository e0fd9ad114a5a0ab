// The sentence and its translation, word by word; to point at a word lights up those that it is aligned with.

import { direction, html, rove } from "./dom.js";
import { isTag, shownWord } from "./unpack.js";

export function wordLines(sentence, languages, say) {
  const items = { source: [], target: [] };
  const line = (side, language) => {
    const words = sentence[side].words.slice(0, -1);
    items[side] = words.map((word, number) =>
      html(
        "span",
        { class: isTag(word) ? "word tag" : "word", role: "listitem", "data-word": number },
        html("bdi", {}, shownWord(word, say)),
      ),
    );
    const group = html("p", {
      class: "words",
      dir: direction(words.join(" ")),
      lang: language,
      role: "list",
      "aria-label": say[side],
    });
    items[side].forEach((item) => group.append(item, " "));
    rove(group, items[side]);
    return html("div", { class: "side" }, html("h3", {}, say[side]), group);
  };
  const both = html(
    "div",
    { class: "sentence" },
    line("source", languages[0]),
    line("target", languages[1]),
    html("p", { class: "note" }, say.hover),
  );

  function light(side, number) {
    const pairs = sentence.alignment.filter(([source, target]) => (side === "source" ? source : target) === number);
    both.querySelectorAll(".lit").forEach((item) => item.classList.remove("lit"));
    if (number === null) return;
    items[side][number].classList.add("lit");
    pairs.forEach(([source, target]) => {
      items.source[source]?.classList.add("lit");
      items.target[target]?.classList.add("lit");
    });
  }
  for (const side of ["source", "target"]) {
    items[side].forEach((item, number) => {
      for (const event of ["pointerenter", "focus"]) item.addEventListener(event, () => light(side, number));
      for (const event of ["pointerleave", "blur"]) item.addEventListener(event, () => light(side, null));
    });
  }
  return both;
}
