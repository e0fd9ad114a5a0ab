// "Correct": the translation becomes a text to edit; saved, it is the answer to the same text from then on.

import { ask } from "./server.js";
import { say } from "./strings.js";

const find = (id) => document.getElementById(id);

// `present` gives the answer that is shown, `saved` is told the corrected text, `restore` shows the text before, and
// `trouble` shows what went wrong.
export function correcting(shown, present, saved, restore, trouble) {
  const { field } = shown;
  const buttons = { correct: find("correct"), save: find("save"), cancel: find("cancel") };

  function edit(editing) {
    field.readOnly = !editing;
    buttons.correct.hidden = editing;
    buttons.save.hidden = buttons.cancel.hidden = !editing;
    find("copy").hidden = editing || !present();
    if (editing) field.focus();
  }
  async function save() {
    const { q, source, target, over } = present();
    const translation = field.value.trim();
    if (!translation) return field.focus();
    buttons.save.disabled = true;
    try {
      await ask("/corrections", { q, translation, source, target }, over.signal);
      edit(false);
      saved(translation);
    } catch (error) {
      if (error.name !== "AbortError") trouble.show(error);
    } finally {
      buttons.save.disabled = false;
    }
  }
  buttons.correct.addEventListener("click", () => edit(true));
  buttons.save.addEventListener("click", save);
  buttons.cancel.addEventListener("click", () => {
    edit(false);
    restore();
    buttons.correct.focus();
  });
  field.addEventListener("keydown", (event) => {
    if (field.readOnly) return;
    if (event.key === "Escape") buttons.cancel.click();
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) save();
  });
  // Another answer is shown, or none: whether it can be corrected.
  return (possible) => {
    if (!field.readOnly) edit(false);
    buttons.correct.hidden = !possible;
    buttons.correct.textContent = say().correct;
  };
}
