// Files, dropped or chosen: sent one after the other, each with its progress and, in the end, a link.

import { html } from "/look/dom.js";
import { askDocument, Trouble, troubleOf, withDocumentKey } from "./server.js";
import { say } from "./strings.js";
import { told } from "./trouble.js";

// `chosen` are the languages; `endings` those of files that can be translated.
export function files(chosen, endings, target) {
  const [list, choose, input] = ["files", "choose", "file"].map((id) => document.getElementById(id));
  const drop = document.querySelector(".drop");
  let last = Promise.resolve();

  const add = (files) => {
    for (const file of files) {
      const row = rowOf(file.name);
      list.append(row.element);
      list.hidden = false;
      const languages = { ...chosen };
      if (endings.some((ending) => file.name.toLowerCase().endsWith(ending)))
        last = last.then(() => translate(file, languages, row));
      else row.fail(say().unread(endings.join(" ")));
    }
  };
  choose.addEventListener("click", () => input.click());
  input.accept = endings.join(",");
  input.addEventListener("change", () => {
    add([...input.files]);
    input.value = "";
  });

  const holdsFiles = (event) => event.dataTransfer?.types.includes("Files");
  const dropping = (on) => document.body.classList.toggle("dropping", on);
  document.addEventListener("dragover", (event) => {
    if (!holdsFiles(event)) return;
    event.preventDefault();
    drop.textContent = say().drop(target());
    dropping(true);
  });
  document.addEventListener("dragleave", (event) => event.relatedTarget ?? dropping(false));
  document.addEventListener("drop", (event) => {
    if (!holdsFiles(event)) return;
    event.preventDefault();
    dropping(false);
    add([...event.dataTransfer.files]);
  });
}

function rowOf(name) {
  const bar = html("progress", { max: 1, value: 0, "aria-label": name });
  const state = html("span", { class: "state", role: "status" });
  const over = new AbortController();
  const cancel = html("button", { type: "button", class: "quiet", click: () => over.abort() }, say().cancel);
  const element = html("li", {}, html("bdi", { class: "name" }, name), bar, state, cancel);
  over.signal.addEventListener("abort", () => element.remove());
  return {
    element,
    over: over.signal,
    tell(said, share) {
      state.textContent = said;
      if (share === null) bar.removeAttribute("value");
      else bar.value = share;
    },
    done(address, name) {
      const link = html("a", { href: address, download: name }, say().download);
      const focused = element.contains(document.activeElement);
      element.replaceChildren(element.firstChild, link);
      if (focused) link.focus();
    },
    fail(said) {
      bar.remove();
      cancel.remove();
      state.textContent = said;
      state.classList.add("bad");
    },
  };
}

async function translate(file, languages, row) {
  if (row.over.aborted) return;
  let job = null;
  const leave = () => job && askDocument(job, "/cancel", { keepalive: true }).catch(() => null);
  window.addEventListener("pagehide", leave);
  row.over.addEventListener("abort", leave);
  try {
    job = await send(file, languages, row);
    if (row.over.aborted) return leave();
    row.tell(say().translating, null);
    const { content, name } = await translated(job, row);
    job = null;
    row.done(URL.createObjectURL(content), name);
  } catch (error) {
    job = null;
    if (error.kind === undefined && error.name !== "AbortError") throw error; // a mistake of ours
    if (!row.over.aborted) row.fail(told(error));
  } finally {
    window.removeEventListener("pagehide", leave);
  }
}

// Only this kind of request tells how much of a file has been sent.
function send(file, { source, target }, row) {
  return new Promise((sent, failed) => {
    const request = new XMLHttpRequest();
    const form = new FormData();
    const fields = withDocumentKey({ target_lang: target, ...(source === "auto" ? {} : { source_lang: source }) });
    for (const [name, value] of Object.entries(fields)) form.append(name, value);
    form.append("file", file);
    request.open("POST", "/v2/document");
    request.responseType = "json";
    request.upload.addEventListener("progress", ({ loaded, total }) => row.tell(say().sending, loaded / total));
    request.addEventListener("loadend", () => {
      const { status, response } = request;
      if (status === 200) sent(response);
      else failed(troubleOf(status, response?.message, request.getResponseHeader("Retry-After")));
    });
    row.over.addEventListener("abort", () => request.abort());
    row.tell(say().sending, 0);
    request.send(form);
  });
}

// The translated file and its name. The server answers when the job has ended, or after a second.
async function translated(job, row) {
  for (;;) {
    const { status, progress, error_message: sentence } = await (await askDocument(job, "", { signal: row.over })).json();
    if (status === "error") throw troubleOfJob(sentence);
    if (status === "done") break;
    row.tell(say().translating, progress || null);
  }
  const answer = await askDocument(job, "/result", { signal: row.over });
  const [, name] = answer.headers.get("Content-Disposition").split("''");
  return { content: await answer.blob(), name: decodeURIComponent(name) };
}

function troubleOfJob(sentence) {
  if (/^Quota/.test(sentence)) return new Trouble("quota");
  if (/busy|took too long/.test(sentence)) return new Trouble("busy");
  if (/bytes are allowed/.test(sentence)) return new Trouble("long");
  return new Trouble("failed", { sentence: sentence.replace(/^Invalid request: /, "") });
}
