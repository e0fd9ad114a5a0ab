// What the page says, in English and Korean.

import { recall, remember } from "./remember.js";

const ENGLISH = {
  theme: "Dark",
  from: "Translate from",
  to: "Translate into",
  detect: "Detect language",
  detected: (language) => `${language} (detected)`,
  assumed: (language) => `${language} (assumed)`,
  swap: "Swap the languages",
  text: "Text to translate",
  placeholder: "Type or paste a text, or drop a file",
  placeholderTouch: "Type or paste a text",
  translation: "Translation",
  clear: "Clear",
  copy: "Copy",
  copied: "Copied",
  count: (count, most) => `${count} / ${most}`,
  counted: (count, most) => `${count} of ${most} characters`,
  already: (language) => `This is ${language} already.`,
  turned: (from, to) => `This is ${from}, so it was translated into ${to}.`,
  left: (language) => `This is ${language}, so it was left as it is.`,
  partLeft: (language) => `What is ${language} was left as it is.`,
  force: "Translate anyway",
  translated: (language, text) => `${language}: ${text}`,
  file: "Translate a file",
  files: "Files",
  drop: (language) => `Drop a file here to translate it into ${language}`,
  sending: "Sending",
  translating: "Translating",
  download: "Download",
  cancel: "Cancel",
  unread: (endings) => `This kind of file can't be translated. These can: ${endings}`,
  key: "Key",
  useKey: "Use this key",
  keyNote: "This server needs a key. It is kept until you close this tab.",
  more: "More about this translation",
  tabs: { others: "Other translations", inside: "Look inside", program: "API" },
  othersEmpty: "Other translations that the model considered appear here.",
  othersNote: "A bar shows how likely the model finds a translation, compared with the one above. Words that differ are underlined.",
  wordsNote: "Point at a word of the translation to see where it came from; click it for other words. A dotted line marks words that the model was not sure of.",
  wordsNoteTouch: "Tap a word of the translation to see where it came from, and for other words. A dotted line marks words that the model was not sure of.",
  wordsWait: "Searching for other words…",
  wordsFailed: "Other words could not be found now.",
  wordsNone: "The model has no other word for this place.",
  weak: (percent) => `The model was not sure of this word (${percent}).`,
  wordsMenu: (word) => `Other words instead of “${word}”`,
  asGood: (percent) => `${percent} % as likely as the translation above`,
  chosen: "With a word you chose.",
  undo: "Undo",
  stale: "From the previous text",
  correct: "Correct",
  saveCorrection: "Save",
  saved: "Saved. From now on this text is translated like this.",
  corrected: "This is a saved correction.",
  unsure: "The model is not sure of this translation.",
  warnings: {
    repeats: "This may be wrong: it repeats itself.",
    copied: "This may be wrong: it is still in the language of the text.",
    short: "This may be wrong: a part of the text seems to be missing.",
    appended: "Text that must stay as it is was put at the end: its place was not found.",
  },
  tryThis: "Try one of these",
  theModel: "The model here:",
  noOthers: "The model found no other translation.",
  insideEmpty: "Translate a sentence to see how the model did it: attention, beam search, probabilities.",
  looking: "Looking inside…",
  lastStep: (from, to) => `No model translates this directly. This is the last step, from ${from} to ${to}.`,
  program: "Written for",
  programs: { curl: "curl", python: "Python" },
  yourKey: "YOUR KEY",
  sample: "Good morning.",
  again: "Try again",
  trouble: {
    gone: "The server does not answer.",
    busy: "The server is busy.",
    often: "Too many requests in a short time.",
    key: "This server needs a valid key.",
    quota: "The quota of this key is used up.",
    long: (most) => (most ? `This is too long: ${most} characters are allowed.` : "This is too long."),
    failed: (sentence) => `That did not work. ${sentence}`.trim(),
  },
  soon: (seconds) => `Trying again in ${seconds} s.`,
};

const KOREAN = {
  theme: "다크 모드",
  from: "원문 언어",
  to: "번역문 언어",
  detect: "언어 감지",
  detected: (language) => `${language} (감지됨)`,
  assumed: (language) => `${language} (추정)`,
  swap: "언어 맞바꾸기",
  text: "번역할 글",
  placeholder: "글을 입력하거나 파일을 끌어다 놓으세요",
  placeholderTouch: "글을 입력하거나 붙여 넣으세요",
  translation: "번역문",
  clear: "지우기",
  copy: "복사",
  copied: "복사했습니다",
  count: (count, most) => `${count} / ${most}`,
  counted: (count, most) => `${most}자 가운데 ${count}자`,
  already: (language) => `이미 ${language}입니다.`,
  turned: (from, to) => `${from}로 된 글이라 ${to}로 번역했습니다.`,
  left: (language) => `${language}로 된 글이라 그대로 두었습니다.`,
  partLeft: (language) => `${language}로 된 부분은 그대로 두었습니다.`,
  force: "그래도 번역",
  translated: (language, text) => `${language}: ${text}`,
  file: "파일 번역",
  files: "파일",
  drop: (language) => `여기에 파일을 놓으면 ${language}로 번역합니다`,
  sending: "보내는 중",
  translating: "번역하는 중",
  download: "내려받기",
  cancel: "취소",
  unread: (endings) => `이 형식의 파일은 번역할 수 없습니다. 다음 형식만 지원합니다: ${endings}`,
  key: "키",
  useKey: "이 키 사용",
  keyNote: "이 서버를 쓰려면 키가 필요합니다. 키는 이 탭을 닫을 때까지만 보관합니다.",
  more: "이 번역 자세히 보기",
  tabs: { others: "다른 번역", inside: "들여다보기", program: "API" },
  othersEmpty: "모델이 함께 검토한 다른 번역이 여기에 표시됩니다.",
  othersNote: "막대는 위의 번역과 비교해 모델이 얼마나 그럴듯하게 보는지를 나타냅니다. 다른 단어에는 밑줄이 있습니다.",
  wordsNote: "번역문의 단어를 가리키면 원문의 어느 단어에서 왔는지 보이고, 누르면 바꿔 쓸 단어가 나옵니다. 점선은 모델이 확신하지 못한 단어입니다.",
  wordsNoteTouch: "번역문의 단어를 누르면 원문의 어느 단어에서 왔는지 보이고, 바꿔 쓸 단어가 나옵니다. 점선은 모델이 확신하지 못한 단어입니다.",
  wordsWait: "다른 단어를 찾는 중…",
  wordsFailed: "지금은 다른 단어를 찾지 못했습니다.",
  wordsNone: "모델이 이 자리에 쓸 다른 단어를 찾지 못했습니다.",
  weak: (percent) => `모델이 이 단어를 확신하지 못했습니다(${percent}).`,
  wordsMenu: (word) => `“${word}” 대신 쓸 단어`,
  asGood: (percent) => `위 번역 확률의 ${percent}%`,
  chosen: "직접 고른 단어가 들어 있습니다.",
  undo: "되돌리기",
  stale: "이전 글의 결과",
  correct: "고치기",
  saveCorrection: "저장",
  saved: "저장했습니다. 이제 이 글은 이렇게 번역됩니다.",
  corrected: "고쳐 둔 번역입니다.",
  unsure: "모델이 확신하지 못하는 번역입니다.",
  warnings: {
    repeats: "같은 말이 되풀이되어 틀렸을 수 있습니다.",
    copied: "원문의 언어로 남아 있어 틀렸을 수 있습니다.",
    short: "원문의 일부가 빠져 틀렸을 수 있습니다.",
    appended: "번역하지 않는 부분의 자리를 찾지 못해 끝에 붙였습니다.",
  },
  tryThis: "예문으로 시작해 보세요",
  theModel: "이 서버의 모델:",
  noOthers: "모델이 찾은 다른 번역이 없습니다.",
  insideEmpty: "문장을 번역하면 모델이 어떻게 번역했는지 볼 수 있습니다. 어텐션, 빔 서치, 확률을 보여 줍니다.",
  looking: "들여다보는 중…",
  lastStep: (from, to) => `이 글을 바로 번역하는 모델이 없습니다. 아래는 마지막 단계(${from} → ${to})입니다.`,
  program: "코드 형식",
  programs: { curl: "curl", python: "Python" },
  yourKey: "발급받은 키",
  sample: "Good morning.",
  again: "다시 시도",
  trouble: {
    gone: "서버가 응답하지 않습니다.",
    busy: "서버가 바쁩니다.",
    often: "짧은 시간에 요청이 너무 많았습니다.",
    key: "이 서버를 쓰려면 올바른 키가 필요합니다.",
    quota: "이 키의 할당량을 다 썼습니다.",
    long: (most) => (most ? `내용이 너무 깁니다. ${most}자까지 됩니다.` : "내용이 너무 깁니다."),
    failed: (sentence) => `문제가 생겼습니다. ${sentence}`.trim(),
  },
  soon: (seconds) => `${seconds}초 뒤에 다시 시도합니다.`,
};

// The language that the page speaks: as was chosen here, or the browser's; English if it is another.
export const speech = { lang: known(recall("regard-language") ?? navigator.language) };

export function say() {
  return speech.lang === "ko" ? KOREAN : ENGLISH;
}

// Where there is no pointer, one taps instead of pointing, and has no file to drop.
if (matchMedia("(hover: none), (pointer: coarse)").matches)
  for (const said of [ENGLISH, KOREAN]) for (const key of ["wordsNote", "placeholder"]) said[key] = said[`${key}Touch`];

export function speak(lang) {
  speech.lang = known(lang);
  remember("regard-language", speech.lang);
}

// A language by its code, as the page's own language calls it; or else as the server does.
export function named(code, name) {
  const found = new Intl.DisplayNames([speech.lang], { type: "language", fallback: "none" });
  try {
    return found.of(code) ?? name ?? code;
  } catch {
    return name ?? code;
  }
}

export function figure(number) {
  return number.toLocaleString(speech.lang);
}

function known(lang) {
  return /^ko\b/i.test(lang) ? "ko" : "en";
}
