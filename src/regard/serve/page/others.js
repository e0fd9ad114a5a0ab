// The translation and others that the model thought of, with their scores.

import { html } from "/look/dom.js";
import { figure } from "/look/unpack.js";
import { say } from "./strings.js";
import { troubleIn } from "./trouble.js";

export function othersPanel(place) {
  return async (answer) => {
    if (!answer) return place.replaceChildren(html("p", { class: "note" }, say().othersEmpty));
    const line = html("div", { class: "trouble" });
    const trouble = troubleIn(line);
    place.replaceChildren(line);
    const show = async () => {
      try {
        const details = await answer.details();
        if (place.firstChild === line) place.replaceChildren(...list(answer, details));
      } catch (error) {
        if (!answer.over.signal.aborted && place.firstChild === line) trouble.show(error, show);
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
      html("span", { class: "figures", "data-score": score }, `${say().score} ${figure(score, 3)}`),
    ),
  );
  const note = details.alternatives.length ? say().othersNote : `${say().noOthers} ${say().othersNote}`;
  return [html("ol", { class: "others" }, items), html("p", { class: "note" }, note)];
}
