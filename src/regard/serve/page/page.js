// The page begins here: what is typed is translated, and the other parts are told of it.

import { alignment } from "./alignment.js";
import { answerOf } from "./answer.js";
import { copy } from "./copy.js";
import { correcting } from "./correct.js";
import { files } from "./files.js";
import { insidePanel } from "/panels/inside.js";
import { languageMenus } from "./languages.js";
import { othersPanel } from "/panels/others.js";
import { pane } from "./pane.js";
import { programPanel } from "/panels/program.js";
import { ask, hasKey, newest, Trouble, useKey } from "./server.js";
import { figure, say } from "./strings.js";
import { sayStatic, switches } from "./switches.js";
import { tabs } from "/panels/tabs.js";
import { welcome } from "/panels/welcome.js";
import { troubleIn } from "./trouble.js";
import { otherWords } from "./words.js";

const UNSURE = 0.4; // confidence below which a translation is said to be unsure
const TYPING = 250; // milliseconds without a key, after which a text is translated
const SETTLED = 400; // and after which more is asked about its translation

const find = (id) => document.getElementById(id);
const [given, shown] = [pane(find("given")), pane(find("answer"))];
const trouble = troubleIn(find("trouble"));
const request = newest();
let settings, menus, panels, greet;
let answer = null;
let forced = null; // the text that is to be translated whatever language it is in
let typing, settling;

const length = () => [...given.field.value].length; // as Python counts
const isLong = () => settings && length() > settings.charLimit;

function translate(again = false) {
  if (!menus) return;
  outdate();
  const q = given.field.value;
  if (!again || !q.trim() || isLong()) trouble.clear(); // what is tried again waits longer each time
  if (!q.trim() || isLong()) {
    find("answer").ariaBusy = false;
    if (isLong()) return trouble.show(new Trouble("long", { limit: settings.charLimit }));
    return show(null);
  }
  find("answer").ariaBusy = true;
  request.run(
    (signal) => askEitherWay(q, signal),
    (found) => {
      find("answer").ariaBusy = false;
      trouble.clear();
      show(found);
    },
    (error) => {
      find("answer").ariaBusy = false;
      trouble.show(error, () => translate(true));
    },
  );
}

// The answer to a text: as it is asked for or, if the text is in the target language already, the other way.
async function askEitherWay(q, signal) {
  const asked = fields(q, menus.wanted());
  const first = answerOf(q, asked, await ask("/translate", { q, ...asked }, signal));
  const back = first.already && !asked.force ? menus.turned(asked) : null;
  if (!back) return first;
  const found = await ask("/translate", { q, ...back }, signal);
  return { ...answerOf(q, back, found), turned: true };
}

// The languages of a request and, if it was asked for, that a text in another language is translated, too.
function fields(q, languages = menus.chosen) {
  return forced === q ? { ...languages, force: true } : { ...languages };
}

function show(found) {
  answer?.over.abort();
  answer = found;
  find("answer").classList.remove("stale");
  shown.set(answer?.text ?? "");
  shown.field.lang = answer?.target ?? "";
  find("copy").hidden = !answer;
  closeWords();
  menus.answered(answer?.asked ?? menus.wanted(), answer?.detected ?? null);
  if (!answer) greet(!given.field.value);
  remark();
  find("said").textContent = answer ? (foreign() ?? said(answer.text)) : "";
  clearTimeout(settling);
  settling = setTimeout(settle, answer ? SETTLED : 0);
}

function settle() {
  panels.show();
  underline();
}

// Underline the words that the model was not sure of, as soon as they are known.
async function underline() {
  const own = answer;
  const weak = (await own?.weak()) ?? [];
  if (own === answer && shown.field.readOnly) shown.underline(weak);
}

function said(text) {
  return [turned(), say().translated(menus.called(answer.target), text)].filter(Boolean).join(" ");
}

// What is said of an answer of which all, or a part, was left in the language that it is in.
function foreign() {
  const { left, foreign, target } = answer ?? {};
  if (!left) return foreign && say().partLeft(menus.called(foreign));
  return !foreign || foreign === target ? say().already(menus.called(target)) : say().left(menus.called(foreign));
}

// What is said of a text that was in the target language, and so was translated the other way.
function turned() {
  const { turned, source, target } = answer;
  return turned ? say().turned(menus.called(source), menus.called(target)) : "";
}

function force() {
  forced = given.field.value;
  shown.field.focus(); // the button goes
  translate();
}

function remark() {
  const chosen = Boolean(answer?.chosen);
  const doubt = answer?.warnings.map((name) => say().warnings[name]).find(Boolean);
  const unsure = answer?.confidence !== null && answer?.confidence < UNSURE ? say().unsure : "";
  const said = chosen ? say().chosen : answer?.corrected ? say().corrected : (foreign() ?? doubt ?? unsure);
  find("remark").textContent = answer ? [turned(), said].filter(Boolean).join(" ") : "";
  find("force").hidden = !answer?.foreign;
  canCorrect(Boolean(settings.suggestions && answer && !answer.left));
  find("undo").hidden = !chosen;
}

// Show the translation with another word in place of one of its own; null takes all such choices back.
function choose(text) {
  answer.chosen = text;
  shown.set(text ?? answer.text);
  find("said").textContent = said(text ?? answer.text);
  remark();
  underline();
}

function corrected(text) {
  answer.chosen = null;
  Object.assign(answer, { text, corrected: true, foreign: null, warnings: [], confidence: null });
  shown.set(text);
  remark();
  find("remark").textContent = find("said").textContent = say().saved;
}

function count() {
  const [now, most] = [length(), settings?.charLimit].map((number) => (number === undefined ? "" : figure(number)));
  find("count").textContent = settings ? say().count(now, most) : "";
  find("count").title = settings ? say().counted(now, most) : "";
  find("count").classList.toggle("over", Boolean(isLong()));
  find("clear").hidden = !given.field.value;
  greet?.(!given.field.value);
}

// What is shown is no longer the translation of what was typed, nor is what is still to come.
function outdate() {
  request.stop();
  answer?.over.abort();
  find("answer").classList.toggle("stale", Boolean(answer));
  find("panel").classList.toggle("stale", Boolean(answer) && panels?.chosen() !== "program");
  closeWords();
  clearTimeout(typing);
  clearTimeout(settling);
}

function changed() {
  outdate();
  count();
  if (panels?.chosen() === "program") panels.show();
  typing = setTimeout(translate, given.field.value.trim() ? TYPING : 0);
}

function swap() {
  const back = menus.backwards();
  if (!back) return;
  const text = answer && !answer.over.signal.aborted ? (answer.chosen ?? answer.text) : given.field.value;
  given.set(text);
  count();
  menus.change(back);
}

function sayAll() {
  sayStatic();
  find("panel").dataset.stale = say().stale;
  count();
  trouble.say();
  if (!menus) return;
  menus.say();
  remark();
  panels.show();
}

async function begin() {
  let languages;
  try {
    [settings, languages] = await Promise.all([ask("/frontend/settings"), ask("/languages")]);
  } catch (error) {
    return trouble.show(error, begin);
  }
  if (menus) return; // another try was faster
  menus = languageMenus(languages, settings.language.target.code, () => {
    forced = null;
    greet(!given.field.value);
    translate();
  });
  greet = welcome(find("welcome"), () => menus.chosen, write);
  const place = find("panel");
  const [others, inside, program] = [
    othersPanel(place),
    insidePanel(place, menus.called),
    programPanel(place, settings.keyRequired),
  ];
  panels = tabs({
    others: () => others(answer),
    inside: () => inside(answer),
    program: () => program({ q: given.field.value, ...fields(given.field.value) }),
  });
  find("key").hidden = !settings.keyRequired || hasKey();
  files(menus, settings.supportedFilesFormat);
  sayAll();
  translate();
}

function write(text) {
  given.set(text);
  changed();
  given.field.focus();
}

const canCorrect = correcting(shown, () => answer, corrected, () => choose(answer.chosen), trouble);
const closeWords = otherWords(shown, () => answer, choose);
given.field.addEventListener("input", changed);
given.field.addEventListener("keydown", (event) => {
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) translate();
});
find("clear").addEventListener("click", () => write(""));
find("force").addEventListener("click", force);
find("undo").addEventListener("click", () => choose(null));
find("swap").addEventListener("click", swap);
find("copy").addEventListener("click", () => copy(answer.chosen ?? answer.text, find("copy")));
document.addEventListener("key-wanted", () => (find("key").hidden = false));
find("key").addEventListener("submit", (event) => {
  event.preventDefault();
  useKey(find("secret").value.trim());
  find("key").hidden = true;
  translate();
});
alignment(given, shown, async (wanted) => answer?.pairs(wanted));
switches(sayAll);
sayStatic();
begin();
