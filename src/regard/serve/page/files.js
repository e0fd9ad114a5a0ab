// Files, dropped or chosen: sent one after the other, each with its progress and, in the end, a link.

import { html } from "/look/dom.js";
import { askDocument, Trouble, troubleOf, withDocumentKey } from "./server.js";
import { say } from "./strings.js";
import { told } from "./trouble.js";

// `menus` has the languages; `endings` are those of files that can be translated.
export function files(menus, endings) {
  const [list, choose, input] = ["files", "choose", "file"].map((id) => document.getElementById(id));
  const drop = document.querySelector(".drop");
  let last = Promise.resolve();

  const add = (files) => {
    for (const file of files) {
      const row = rowOf(file.name);
      list.append(row.element);
      list.hidden = false;
      const languages = { ...menus.chosen };
      if (endings.some((ending) => file.name.toLowerCase().endsWith(ending)))
        last = last.then(() => translate(file, languages, row, menus.called));
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
    drop.textContent = say().drop(menus.called(menus.chosen.target));
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
    done(address, name, said) {
      const link = html("a", { href: address, download: name }, say().download);
      const focused = element.contains(document.activeElement);
      state.textContent = said;
      element.replaceChildren(element.firstChild, link, ...(said ? [state] : []));
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

async function translate(file, languages, row, called) {
  if (row.over.aborted) return;
  let job = null;
  const leave = () => job && askDocument(job, "/cancel", { keepalive: true }).catch(() => null);
  window.addEventListener("pagehide", leave);
  row.over.addEventListener("abort", leave);
  try {
    job = await send(file, languages, row);
    if (row.over.aborted) return leave();
    row.tell(say().translating, null);
    const { content, name, report } = await translated(job, row);
    job = null;
    row.done(URL.createObjectURL(content), name, left(report, called));
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

// What is said of a file of which all, or a part, was left in the language that it is in.
function left({ translated, other_languages: others }, called) {
  const names = Object.keys(others).map(called).join(", ");
  return names && (translated ? say().partLeft(names) : say().left(names));
}

// The server answers when the job has ended, or after a second.
const progressOf = async (job, row) => (await askDocument(job, "", { signal: row.over })).json();

// The translated file, its name, and figures of the translation.
async function translated(job, row) {
  let now = await progressOf(job, row);
  while (now.status !== "done") {
    if (now.status === "error") throw troubleOfJob(now.error_message);
    row.tell(say().translating, now.progress || null);
    now = await progressOf(job, row);
  }
  const answer = await askDocument(job, "/result", { signal: row.over });
  const [, name] = answer.headers.get("Content-Disposition").split("''");
  return { content: await answer.blob(), name: decodeURIComponent(name), report: now.report };
}

function troubleOfJob(sentence) {
  if (/^Quota/.test(sentence)) return new Trouble("quota");
  if (/busy|took too long/.test(sentence)) return new Trouble("busy");
  if (/bytes are allowed/.test(sentence)) return new Trouble("long");
  return new Trouble("failed", { sentence: sentence.replace(/^Invalid request: /, "") });
}
