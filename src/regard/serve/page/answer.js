// A translation that the server gave, and what else it tells of it when asked.

import { ask } from "./server.js";

const REST = 5000; // milliseconds

export function answerOf(q, { source, target }, { translatedText, detectedLanguage, memory, confidence, warnings }) {
  const over = new AbortController(); // aborted when the text has changed
  const asked = { q, source: detectedLanguage?.language ?? source, target };
  const known = {};
  let rest = 0; // until then no alignment is asked for: the last time it failed
  const once = (path) => {
    known[path] ??= ask(path, asked, over.signal).catch((error) => {
      delete known[path];
      throw error;
    });
    return known[path];
  };
  return {
    ...asked,
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
