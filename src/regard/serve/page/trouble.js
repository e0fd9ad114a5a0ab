// What went wrong, told kindly: what passes by itself is tried again by itself.

import { html } from "/look/dom.js";
import { figure, say } from "./strings.js";

const LONGEST = 30; // seconds

// One sentence about it.
export function told({ kind, limit, sentence }) {
  if (kind === "key") document.dispatchEvent(new Event("key-wanted"));
  const said = say().trouble[kind];
  if (typeof said !== "function") return said;
  return said(kind === "long" ? limit && figure(limit) : sentence);
}

// A place where trouble is told. What is tried again and again waits longer each time.
export function troubleIn(place) {
  let timer = null;
  let tries = 0;
  let shown = null;

  function tell() {
    const [trouble, seconds, again] = shown;
    const parts = [told(trouble), ...(seconds ? [say().soon(seconds)] : [])];
    const button = again && html("button", { type: "button", class: "framed", click: () => retry(again) }, say().again);
    place.replaceChildren(html("span", {}, parts.join(" ")), button ?? "");
    place.dataset.kind = trouble.kind;
  }
  function retry(again) {
    clearTimeout(timer);
    again();
  }
  return {
    show(trouble, again = null) {
      if (trouble.kind === undefined) throw trouble; // a mistake of ours
      clearTimeout(timer);
      const wait = { gone: 2, busy: trouble.seconds, often: trouble.seconds }[trouble.kind];
      const passing = wait && wait * 2 ** tries;
      const seconds = again && passing ? Math.min(LONGEST, passing) : null;
      if (seconds) timer = setTimeout(again, 1000 * seconds);
      tries += 1;
      shown = [trouble, seconds, ["key", "quota", "long"].includes(trouble.kind) ? null : again];
      tell();
    },
    clear() {
      clearTimeout(timer);
      tries = 0;
      shown = null;
      place.replaceChildren();
      delete place.dataset.kind;
    },
    say: () => shown && tell(),
  };
}
