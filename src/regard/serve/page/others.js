// The translation and others that the model thought of, with their scores.

import { html } from "/look/dom.js";
import { figure } from "/look/unpack.js";
import { say } from "./strings.js";
import { troubleIn } from "./trouble.js";

// What was shown before stays until the next is here.
export function othersPanel(place) {
  const root = html("div", {});
  let turn = 0;

  return async (answer) => {
    const own = ++turn;
    place.replaceChildren(root);
    if (!answer) return root.replaceChildren(html("p", { class: "note" }, say().othersEmpty));
    const line = html("div", { class: "trouble", role: "status" });
    const trouble = troubleIn(line);
    const show = async () => {
      try {
        const details = await answer.details();
        if (own === turn) root.replaceChildren(...list(answer, details));
      } catch (error) {
        if (own !== turn || answer.over.signal.aborted) return;
        root.replaceChildren(line);
        trouble.show(error, show);
      }
    };
    await show();
  };
}

function list(answer, details) {
  const all = [{ text: details.translatedText, score: details.score }, ...details.alternatives];
  const items = all.map(({ text, score }) =>
    html(
      "li",
      {},
      html("div", { class: "text", dir: "auto", lang: answer.target }, text),
      html("span", { class: "figures" }, `${say().score} ${figure(score, 3)}`),
    ),
  );
  const note = details.alternatives.length ? say().othersNote : `${say().noOthers} ${say().othersNote}`;
  return [html("ol", { class: "others" }, items), html("p", { class: "note" }, note)];
}
