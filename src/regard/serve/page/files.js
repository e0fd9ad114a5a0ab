// Files, dropped or chosen: sent one after the other, each with its progress and, in the end, a link.

import { html } from "/look/dom.js";
import { troubleOf, withKey } from "./server.js";
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
    done(address) {
      state.remove();
      element.replaceChildren(element.firstChild, html("a", { href: address, download: "" }, say().download));
    },
    fail(said) {
      bar.remove();
      cancel.remove();
      state.textContent = said;
      state.classList.add("bad");
    },
  };
}

// Only this kind of request tells how much of a file has been sent.
function translate(file, languages, row) {
  if (row.over.aborted) return null;
  return new Promise((finished) => {
    const request = new XMLHttpRequest();
    const form = new FormData();
    for (const [name, value] of Object.entries(withKey(languages))) form.append(name, value);
    form.append("file", file);
    request.open("POST", "/translate_file");
    request.responseType = "json";
    request.upload.addEventListener("progress", ({ loaded, total }) => row.tell(say().sending, loaded / total));
    request.upload.addEventListener("load", () => row.tell(say().translating, null));
    request.addEventListener("loadend", () => {
      if (request.status === 200) row.done(new URL(request.response.translatedFileUrl).pathname);
      else row.fail(told(troubleOf(request.status, request.response?.error, request.getResponseHeader("Retry-After"))));
      finished();
    });
    row.over.addEventListener("abort", () => request.abort());
    row.tell(say().sending, 0);
    request.send(form);
  });
}
