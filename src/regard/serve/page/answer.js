// A translation that the server gave, and what else it tells of it when asked.

import { ask } from "./server.js";

const REST = 5000; // milliseconds
export const SURE = 50; // of 100: how sure a detected language is

// `asked` are the languages that were chosen and `force`, if it is; `found` is what /translate answered.
export function answerOf(q, languages, found) {
  const { target, ...asked } = languages;
  const over = new AbortController(); // aborted when the text has changed
  const { translatedText, detectedLanguage, memory, confidence, warnings, untranslatedLanguage } = found;
  // A text that was left as it is may be in a language that is not served: then it is asked about as it was before.
  const source = (!untranslatedLanguage && detectedLanguage?.language) || asked.source;
  const again = { q, ...asked, source, target };
  const left = source === target || Boolean(untranslatedLanguage && translatedText.trim() === q.trim());
  const sure = (detectedLanguage?.confidence ?? 100) >= SURE;
  const known = {};
  let rest = 0; // until then no alignment is asked for: the last time it failed
  const once = (path) => {
    known[path] ??= ask(path, again, over.signal).catch((error) => {
      delete known[path];
      throw error;
    });
    return known[path];
  };
  return {
    ...again,
    foreign: untranslatedLanguage ?? null, // the language of the text, or of a part of it, that was left as it is
    left, // all of it
    already: left && sure && (untranslatedLanguage ?? source) === target, // it is in the target language
    turned: false, // whether it was translated the other way for that
    asked: languages,
    detected: detectedLanguage ?? null,
    text: translatedText,
    corrected: memory?.percent === 100, // the memory had it
    confidence: confidence ?? null,
    warnings: warnings ?? [],
    chosen: null, // the text with other words that were chosen
    over,
    details: () => once("/details"),
    look: () => once("/look"),
    // The words that the model was not sure of: their numbers and probabilities.
    async weak() {
      const details = await once("/details").catch(() => null);
      return details?.translatedText === (this.chosen ?? this.text) ? details.weak : [];
    },
    // The numbers of aligned words; unless they are wanted, only if they are here already.
    async pairs(wanted) {
      if (over.signal.aborted || !(known["/details"] || (wanted && Date.now() > rest))) return null;
      const details = await once("/details").catch(() => {
        rest = Date.now() + REST;
        return null;
      });
      return details?.translatedText === (this.chosen ?? translatedText) ? details.alignment : null;
    },
  };
}
