// Other translations that the model thought of: what differs is marked, and a bar says how good it holds each.

import { html } from "/look/dom.js";
import { say } from "/page/strings.js";
import { troubleIn } from "/page/trouble.js";

// What was shown before stays, dimmed, until the next is here.
export function othersPanel(place) {
  const root = html("div", {});
  let turn = 0;

  return async (answer) => {
    const own = ++turn;
    place.replaceChildren(root);
    const draw = (...content) => {
      place.classList.remove("stale");
      root.replaceChildren(...content);
    };
    if (!answer || answer.left) return draw(html("p", { class: "note" }, say().othersEmpty));
    const line = html("div", { class: "trouble", role: "status" });
    const trouble = troubleIn(line);
    const show = async () => {
      try {
        const details = await answer.details();
        if (own === turn && !answer.over.signal.aborted) draw(...list(answer, details));
      } catch (error) {
        if (own !== turn || answer.over.signal.aborted) return;
        draw(line);
        trouble.show(error, show);
      }
    };
    await show();
  };
}

function list(answer, { translatedText, score, alternatives }) {
  const items = alternatives.map(({ text, score: other }) => {
    const share = Math.min(1, Math.exp(other - score)); // of the translation's own probability, lengths made equal
    const told = say().asGood(Math.round(100 * share));
    const bar = html("span", { class: "bar", role: "img", "aria-label": told, title: told }, html("span", {}));
    bar.firstChild.style.inlineSize = `${(100 * share).toFixed(1)}%`;
    return html(
      "li",
      {},
      bar,
      html("div", { class: "text", dir: "auto", lang: answer.target }, ...marked(text, translatedText)),
    );
  });
  if (!items.length) return [html("p", { class: "note" }, `${say().noOthers} ${say().wordsNote}`)];
  return [html("ol", { class: "others" }, items), html("p", { class: "note" }, `${say().othersNote} ${say().wordsNote}`)];
}

// A text, its words that are not in another text marked: all but a longest common subsequence.
export function marked(text, other) {
  const [ours, theirs] = [text, other].map((one) => one.split(/(\s+)/));
  const common = ours.map(() => new Uint16Array(theirs.length + 1));
  common.push(new Uint16Array(theirs.length + 1));
  for (let i = ours.length - 1; i >= 0; i--) {
    for (let j = theirs.length - 1; j >= 0; j--) {
      common[i][j] = ours[i] === theirs[j] ? common[i + 1][j + 1] + 1 : Math.max(common[i + 1][j], common[i][j + 1]);
    }
  }
  const parts = [];
  for (let i = 0, j = 0; i < ours.length; i++) {
    while (j < theirs.length && ours[i] !== theirs[j] && common[i][j + 1] > common[i + 1][j]) j++;
    const same = j < theirs.length && ours[i] === theirs[j];
    if (same) j++;
    parts.push(same || !ours[i].trim() ? ours[i] : html("mark", {}, ours[i]));
  }
  return parts;
}
