// The viewer, for the text that was just translated; it and what it shows are fetched when they are wanted.

import { html } from "/look/dom.js";
import { Trouble } from "/page/server.js";
import { say, speech } from "/page/strings.js";
import { troubleIn } from "/page/trouble.js";

// What was shown before stays, dimmed, until the next is here.
export function insidePanel(place, called) {
  const root = html("div", { class: "inside" });
  let viewer = null;
  let shown = null; // the answer that is shown, and in which language
  let turn = 0;

  function clear(...instead) {
    place.classList.remove("stale");
    viewer?.destroy();
    viewer = shown = null;
    root.replaceChildren(...instead);
  }
  function draw(answer, look, mount) {
    const [source, target] = look.languages.map(called);
    const direct = look.languages[0] === answer.source;
    const view = html("div", {});
    clear(direct ? "" : html("p", { class: "note" }, say().lastStep(source, target)), view);
    viewer = mount(view, look, { lang: speech.lang, template: "/look/page.html", words: false });
    shown = [answer, speech.lang];
  }
  return async (answer) => {
    const own = ++turn;
    place.replaceChildren(root);
    if (shown && shown[0] === answer && shown[1] === speech.lang && !answer?.over.signal.aborted) {
      return place.classList.remove("stale");
    }
    if (!answer || answer.left) return clear(html("p", { class: "note" }, say().insideEmpty));
    if (!shown) root.replaceChildren(html("p", { class: "note", role: "status" }, say().looking));
    const line = html("div", { class: "trouble", role: "status" });
    const trouble = troubleIn(line);
    const show = async () => {
      try {
        const [{ mount }, look] = await Promise.all([viewerModule(), answer.look()]);
        if (own === turn && !answer.over.signal.aborted) draw(answer, look, mount);
      } catch (error) {
        if (own !== turn || answer.over.signal.aborted) return;
        clear(line);
        trouble.show(error, show);
      }
    };
    await show();
  };
}

async function viewerModule() {
  try {
    return await import("/look/viewer.js");
  } catch {
    throw new Trouble("gone");
  }
}
