// Asking the server, and what can go wrong with it.

import { recall, remember } from "./remember.js";

const KEY = "regard-key";
let held = recall(KEY, "sessionStorage"); // also where the browser remembers nothing

export class Trouble extends Error {
  constructor(kind, { seconds = null, limit = null, sentence = "" } = {}) {
    super(sentence || kind);
    Object.assign(this, { kind, seconds, limit, sentence });
  }
}

export function useKey(key) {
  held = key;
  remember(KEY, key, "sessionStorage");
}

export function hasKey() {
  return held !== null;
}

// A request's fields, with the key if there is one.
export function withKey(fields) {
  return held ? { ...fields, api_key: held } : fields;
}

// GET, or POST if there are fields.
export async function ask(path, fields, signal) {
  const body = fields && JSON.stringify(withKey(fields));
  const init = fields ? { method: "POST", headers: { "Content-Type": "application/json" }, body, signal } : { signal };
  let response, answer;
  try {
    response = await fetch(path, init);
    answer = await response.json();
  } catch (error) {
    throw error.name === "AbortError" ? error : new Trouble("gone");
  }
  if (response.ok) return answer;
  throw troubleOf(response.status, answer.error, response.headers.get("Retry-After"));
}

// The same for DeepL's API, which calls the key otherwise.
export function withDocumentKey(fields) {
  return held ? { ...fields, auth_key: held } : fields;
}

// Ask about a document that is translated; the response itself.
export async function askDocument({ document_id: id, document_key: key }, what, init) {
  const body = JSON.stringify(withDocumentKey({ document_key: key }));
  const headers = { "Content-Type": "application/json" };
  let response;
  try {
    response = await fetch(`/v2/document/${id}${what}`, { method: "POST", headers, body, ...init });
  } catch (error) {
    throw error.name === "AbortError" ? error : new Trouble("gone");
  }
  if (response.ok) return response;
  const { message } = await response.json().catch(() => ({}));
  throw troubleOf(response.status, message, response.headers.get("Retry-After"));
}

// What an answer that is none means to the person who asked.
export function troubleOf(status, sentence = "", after = null) {
  const seconds = after === null ? null : Number(after);
  if (status === 503) return new Trouble("busy", { seconds: seconds ?? 2 });
  if (status === 429) return new Trouble("often", { seconds: seconds ?? 5 });
  if (status === 456 || (status === 403 && /quota/.test(sentence))) return new Trouble("quota");
  if (status === 403 || /API key/.test(sentence)) return new Trouble("key");
  const limit = sentence.match(/text limit \((\d+)\)/);
  if (limit || status === 413) return new Trouble("long", { limit: limit && Number(limit[1]) });
  return new Trouble(status ? "failed" : "gone", { sentence });
}

// Runs what it is given; the newest alone. An older one is called off, and its answer is dropped.
export function newest() {
  let current = null;
  return {
    async run(work, done, failed) {
      current?.abort();
      const own = (current = new AbortController());
      let answer;
      try {
        answer = await work(own.signal);
      } catch (error) {
        if (own === current) failed(error);
        return;
      }
      if (own === current) done(answer);
    },
    stop() {
      current?.abort();
      current = null;
    },
  };
}
