// The present request as a program would make it.

import { choice, html } from "/look/dom.js";
import { copy } from "/page/copy.js";
import { say } from "/page/strings.js";

const WRITTEN = { curl, python };

export function programPanel(place, keyWanted) {
  let form = "curl";
  return (asked) => {
    const fields = { q: asked.q || say().sample, source: asked.source, target: asked.target };
    if (asked.force) fields.force = true;
    if (keyWanted) fields.api_key = say().yourKey;
    const code = html("code", {});
    const show = (chosen) => {
      form = chosen;
      code.textContent = WRITTEN[form](`${location.origin}/translate`, fields);
    };
    const button = html(
      "button",
      { type: "button", class: "quiet", click: () => copy(code.textContent, button) },
      say().copy,
    );
    place.classList.remove("stale");
    place.replaceChildren(
      html(
        "div",
        { class: "program" },
        html("div", { class: "choices" }, choice(say().program, say().programs, form, show), button),
        html("pre", { tabindex: 0 }, code),
      ),
    );
    show(form);
  };
}

function curl(address, fields) {
  const quoted = JSON.stringify(fields).replaceAll("'", "'\\''");
  return `curl ${address} \\\n  -H 'Content-Type: application/json' \\\n  -d '${quoted}'`;
}

// JSON's strings are Python's.
function python(address, fields) {
  const entries = Object.entries(fields).map(([name, value]) => `    "${name}": ${value === true ? "True" : JSON.stringify(value)},`);
  return [
    "import json",
    "from urllib.request import Request, urlopen",
    "",
    "fields = {",
    ...entries,
    "}",
    `request = Request("${address}", json.dumps(fields).encode(), {"Content-Type": "application/json"})`,
    "with urlopen(request) as answer:",
    '    print(json.load(answer)["translatedText"])',
  ].join("\n");
}
