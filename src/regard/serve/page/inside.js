// The viewer, for the text that was just translated; it and what it shows are fetched when they are wanted.

import { html } from "/look/dom.js";
import { say, speech } from "./strings.js";
import { troubleIn } from "./trouble.js";

export function insidePanel(place, called) {
  let viewer = null;

  return async (answer) => {
    viewer?.destroy();
    viewer = null;
    if (!answer) return place.replaceChildren(html("p", { class: "note" }, say().insideEmpty));
    const waiting = html("p", { class: "note", role: "status" }, say().looking);
    const line = html("div", { class: "trouble" });
    const view = html("div", {});
    const trouble = troubleIn(line);
    const own = html("div", { class: "inside" }, waiting, line, view);
    place.replaceChildren(own);
    const show = async () => {
      try {
        const [{ mount }, look] = await Promise.all([import("/look/viewer.js"), answer.look()]);
        if (place.firstChild !== own) return;
        trouble.clear();
        const [source, target] = look.languages.map(called);
        if (look.languages[0] === answer.source) waiting.remove();
        else waiting.replaceWith(html("p", { class: "note" }, say().lastStep(source, target)));
        viewer = mount(view, look, { lang: speech.lang, template: "/look/page.html" });
      } catch (error) {
        if (answer.over.signal.aborted || place.firstChild !== own) return;
        waiting.hidden = true;
        trouble.show(error, show);
      }
    };
    await show();
  };
}
