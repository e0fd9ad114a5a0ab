// Text to the clipboard; also where a browser gives no page its clipboard, as over plain HTTP from another machine.

import { html } from "/look/dom.js";
import { say } from "./strings.js";

const SHOWN = 1500; // milliseconds that a button says so

export async function copy(text, button) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    byHand(text);
  }
  button.textContent = say().copied;
  setTimeout(() => (button.textContent = say().copy), SHOWN);
}

function byHand(text) {
  const field = html("textarea", { class: "unseen" });
  const focused = document.activeElement;
  field.value = text;
  document.body.append(field);
  field.select();
  document.execCommand("copy");
  field.remove();
  focused?.focus();
}
