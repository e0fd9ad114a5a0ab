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
  translation: "Translation",
  clear: "Clear",
  copy: "Copy",
  copied: "Copied",
  count: (count, most) => `${count} / ${most}`,
  counted: (count, most) => `${count} of ${most} characters`,
  already: (language) => `This is ${language} already.`,
  translated: (language, text) => `${language}: ${text}`,
  file: "Translate a file",
  files: "Files",
  drop: (language) => `Drop a file here to translate it into ${language}`,
  sending: "Sending",
  translating: "Translating",
  download: "Download",
  cancel: "Cancel",
  unread: (endings) => `This kind of file can't be translated; give one of ${endings}.`,
  key: "Key",
  useKey: "Use this key",
  keyNote: "This server wants a key. It is kept until you close this tab.",
  more: "More about this translation",
  tabs: { others: "Other translations", inside: "Look inside", program: "API" },
  othersEmpty: "Translations that the model also thought of will stand here, with their scores.",
  othersNote:
    "A score is the logarithm of the model's probability, divided by a length penalty: the nearer to zero, the surer. Point at a word above to see which word it came from.",
  noOthers: "The model thought of no other translation.",
  score: "score",
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
    key: "This server wants a valid key.",
    quota: "The quota of this key is used up.",
    long: (most) => (most ? `This is too long: ${most} characters are allowed.` : "This is too long."),
    failed: (sentence) => `That did not work. ${sentence}`.trim(),
  },
  soon: (seconds) => `It is tried again in ${seconds} s.`,
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
  placeholder: "글을 입력하거나 붙여 넣으세요. 파일을 끌어다 놓아도 됩니다.",
  translation: "번역문",
  clear: "지우기",
  copy: "복사",
  copied: "복사했습니다",
  count: (count, most) => `${count} / ${most}`,
  counted: (count, most) => `${most}자 가운데 ${count}자`,
  already: (language) => `이미 ${language}입니다.`,
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
  othersEmpty: "모델이 생각한 다른 번역이 점수와 함께 여기에 표시됩니다.",
  othersNote:
    "점수는 모델이 매긴 확률의 로그를 길이 페널티로 나눈 값입니다. 0에 가까울수록 모델이 더 확신하는 번역입니다. 위의 단어를 가리키면 어느 단어에서 왔는지 보입니다.",
  noOthers: "모델이 생각한 다른 번역이 없습니다.",
  score: "점수",
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
