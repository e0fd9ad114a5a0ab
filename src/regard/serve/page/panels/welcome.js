// Before anything is typed: three sentences to try, and what the models here are good for.

import { html } from "/look/dom.js";
import { ask } from "/page/server.js";
import { say, speech } from "/page/strings.js";

// In languages that people train models for first.
const EXAMPLES = {
  en: [
    "Where is the station?",
    "I lost my keys yesterday, so I had to wait outside.",
    "If it rains tomorrow, we will stay at home.",
  ],
  de: [
    "Wo ist der Bahnhof?",
    "Das Buch, das du mir geliehen hast, war sehr spannend.",
    "Der Hund bellt, weil jemand an der Tür ist.",
  ],
  fr: ["Où est la gare ?", "J'ai oublié mes clés à la maison.", "S'il pleut demain, nous resterons à la maison."],
  ko: ["역이 어디에 있습니까?", "어제 열쇠를 잃어버려서 밖에서 기다렸습니다.", "내일 비가 오면 집에 있을 것입니다."],
};

// What a model says of itself, in the language of the page if it can.
function summary({ summary, summaries }) {
  const lang = speech.lang in summaries ? speech.lang : Object.keys(summaries)[0];
  return html("span", { lang }, summaries[lang] ?? summary);
}

// `chosen` gives the languages that are chosen, `use` takes a text.
export function welcome(place, chosen, use) {
  let models = [];
  const about = ask("/about")
    .then((answer) => (models = answer.models))
    .catch(() => {}); // then it goes without saying

  async function show(empty) {
    place.hidden = !empty;
    if (!empty) return;
    await about;
    const { source, target } = chosen();
    const language = source === "auto" ? models.find((model) => model.target === target)?.source : source;
    const examples = (EXAMPLES[language] ?? []).map((text) =>
      html("button", { type: "button", class: "framed", lang: language, click: () => use(text) }, text),
    );
    const model = models.find((one) => one.source === language && one.target === target);
    place.replaceChildren(
      examples.length ? html("h2", {}, say().tryThis) : "",
      html("div", { class: "examples" }, examples),
      model?.summary ? html("p", { class: "note" }, html("b", {}, say().theModel), " ", summary(model)) : "",
    );
  }
  return show;
}
