// The switches at the top: light or dark, and the language of the page itself.

import { remember } from "./remember.js";
import { say, speak, speech } from "./strings.js";

const OTHER = { en: ["ko", "한국어"], ko: ["en", "English"] };

// `spoken` is called when the page is to say everything anew.
export function switches(spoken) {
  const [theme, language] = ["theme", "speak"].map((id) => document.getElementById(id));
  const page = document.documentElement;
  const system = matchMedia("(prefers-color-scheme: dark)");
  const usual = () => (system.matches ? "dark" : "light");
  const show = () => theme.setAttribute("aria-pressed", (page.dataset.theme ?? usual()) === "dark");

  theme.addEventListener("click", () => {
    const wanted = (page.dataset.theme ?? usual()) === "dark" ? "light" : "dark";
    if (wanted === usual()) delete page.dataset.theme;
    else page.dataset.theme = wanted;
    remember("regard-theme", page.dataset.theme ?? null);
    show();
  });
  system.addEventListener("change", show);
  show();
  language.addEventListener("click", () => {
    speak(OTHER[speech.lang][0]);
    spoken();
  });
}

// Every text that stands in index.html.
export function sayStatic() {
  const language = document.getElementById("speak");
  document.documentElement.lang = speech.lang;
  [language.lang, language.textContent] = OTHER[speech.lang];
  const all = (name, tell) =>
    document.querySelectorAll(`[data-${name}]`).forEach((element) => tell(element, say()[element.dataset[name]]));
  all("say", (element, said) => (element.textContent = said));
  all("placeholder", (element, said) => (element.placeholder = said));
  all("label", (element, said) => {
    element.setAttribute("aria-label", said);
    if (element.matches(".round")) element.title = said;
  });
}
