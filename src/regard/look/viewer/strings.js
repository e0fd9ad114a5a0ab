// What the viewer says, in English and Korean.

const ENGLISH = {
  look: "Inside a translation",
  sentence: "Sentence",
  source: "Source",
  target: "Translation",
  hover: "Point at a word to see which word it came from.",
  nothing: "There is no sentence to look at.",
  none: "This model has none of this.",
  tabs: { attention: "Attention", search: "Beam search", next: "Next token", positions: "Positions", walk: "Step by step" },
  kinds: { encoder: "Encoder", decoder: "Decoder", cross: "Cross-attention" },
  heads: "All heads",
  headsNote: "A row is a layer, a column a head. Choose one.",
  head: (kind, layer, head) => `${kind}, layer ${layer}, head ${head}`,
  form: "Drawn as",
  forms: { lines: "Lines", matrix: "Matrix" },
  unit: "Between",
  units: { tokens: "Tokens", words: "Words" },
  explain: {
    encoder: "Each source token on the left looks at the source tokens on the right.",
    decoder: "To write a token on the left, the decoder looks back at what it had written, on the right.",
    cross: "To write a token on the left, the decoder looks at the source tokens on the right.",
  },
  explainMatrix: {
    encoder: "Each source token (row) looks at the source tokens (columns).",
    decoder: "To write a token (row), the decoder looks back at what it had written (columns).",
    cross: "To write a token (row), the decoder looks at the source tokens (columns).",
  },
  sums: "A stronger colour is a larger weight; the weights of a token add up to 1.",
  sumsWords:
    "A stronger colour is a larger weight; between words it is the sum over the tokens looked at, and the mean over those that look.",
  looks: (token, parts) => `${token} looks at ${parts}`,
  looked: (token, parts) => `${token} is looked at by ${parts}`,
  point: "Point at a token for its weights.",
  start: "start",
  end: "end",
  searchNote: (beam) =>
    `At each step the search keeps the ${beam} best beginnings, the best on top, with their log probabilities. The line in colour leads to the best translation.`,
  stepsNote: (tokens, steps) => `${tokens} tokens in ${steps} steps: each line has the tokens that one step wrote last.`,
  searchOther: "The fast engine rounds, and chose another translation than this search.",
  tree: "The beam search as a tree",
  found: "What the search found",
  score: "score",
  logProbability: "log probability",
  greedy: "Greedy search",
  greedyNote: "The most probable token at each step, without looking ahead.",
  same: "the same as the best",
  differs: "another translation",
  nextNote: "The most probable tokens at this place, given the source and everything written before it.",
  step: (step, steps) => `Token ${step} of ${steps}`,
  stepLabel: "Which token of the translation",
  written: "written",
  notAmong: "The token that was written is not among the ten most probable.",
  positionsNote:
    "A Transformer sees all tokens at once; what tells it their order are these sinusoids, added to each token's embedding (section 3.5 of the paper). A row is a token, a column one of the model's dimensions.",
  side: "Tokens of",
  dimension: "dimension",
  pointValue: "Point at a place for its value.",
  value: (token, position, dimension, value) => `${token}, position ${position}, dimension ${dimension}: ${value}`,
  save: "Save",
  saveSvg: "This view as SVG",
  savePng: "This view as PNG",
  saveHtml: "Everything as one HTML file",
  walkFollow: "Which token of the translation to follow",
  walkBack: "Back",
  walkOn: "Next step",
  walkCount: (step, steps) => `${step} of ${steps}`,
  layer: (layer) => `Layer ${layer}`,
  tagNote: (tag) => `“${tag}” is a token before the text: it tells the model into which language to translate.`,
  byteNote: (token) => `“${token}” is a byte: a character that the vocabulary lacks is written in bytes.`,
  walk: {
    tokens: {
      title: "The text becomes tokens",
      text: (_, { source }) =>
        `A model reads numbers, so the text is cut into ${source.tokens.length} pieces from a fixed vocabulary. A dot begins a piece that continues a word; “end” closes the sentence.`,
    },
    positions: {
      title: "Each token gets a vector, and its position",
      text: () =>
        "A token's embedding says what it is, but not where. So a pattern of sine waves is added to it, a different one at every position: each row below is one.",
    },
    attention: {
      title: "Self-attention: tokens read each other",
      text: () =>
        "Every token takes in what it needs from the others, all at once. The stronger a line, the more the token on the left takes from the one on the right (mean of the heads of the encoder's last layer).",
    },
    feedForward: {
      title: "Feed-forward: each token on its own",
      text: () =>
        "Then a small network changes every token by itself, the same one at every position. Few of its inner units respond to any one token; the bars show which share of them did.",
    },
    cross: {
      title: "The decoder looks at the source",
      text: (token) =>
        `To write “${token}”, the decoder compares what it has written so far with the encoded source, and takes most from these tokens. Choose another token to follow it.`,
    },
    next: {
      title: "The next token",
      text: (token) =>
        `From all this comes a probability for every token of the vocabulary. These were the most probable where “${token}” was written.`,
    },
    again: {
      title: "And again, until the end",
      text: (_, { target }) =>
        `What was written is read in the next step. After ${target.tokens.length} steps the model wrote “end”. Beam search follows several beginnings at once and keeps the best: see “Beam search”.`,
    },
  },
  touch: {
    hover: "Tap a word to see which word it came from.",
    point: "Tap a token for its weights.",
    pointValue: "Tap a place for its value.",
  },
};

const KOREAN = {
  look: "번역 들여다보기",
  sentence: "문장",
  source: "원문",
  target: "번역문",
  hover: "단어를 가리키면 어느 단어에서 왔는지 보입니다.",
  nothing: "들여다볼 문장이 없습니다.",
  none: "이 모델에는 해당하는 것이 없습니다.",
  tabs: { attention: "어텐션", search: "빔 서치", next: "다음 토큰", positions: "위치", walk: "차근차근 보기" },
  kinds: { encoder: "인코더", decoder: "디코더", cross: "교차 어텐션" },
  heads: "모든 헤드",
  headsNote: "행은 층, 열은 헤드입니다. 하나를 고르세요.",
  head: (kind, layer, head) => `${kind}, 층 ${layer}, 헤드 ${head}`,
  form: "표시 방식",
  forms: { lines: "선", matrix: "행렬" },
  unit: "단위",
  units: { tokens: "토큰", words: "단어" },
  explain: {
    encoder: "왼쪽의 각 원문 토큰이 오른쪽의 원문 토큰을 봅니다.",
    decoder: "디코더는 왼쪽의 토큰을 생성할 때 앞서 생성한 토큰(오른쪽)을 돌아봅니다.",
    cross: "디코더는 왼쪽의 토큰을 생성할 때 원문 토큰(오른쪽)을 봅니다.",
  },
  explainMatrix: {
    encoder: "각 원문 토큰(행)이 원문 토큰(열)을 봅니다.",
    decoder: "디코더는 토큰(행)을 생성할 때 앞서 생성한 토큰(열)을 돌아봅니다.",
    cross: "디코더는 토큰(행)을 생성할 때 원문 토큰(열)을 봅니다.",
  },
  sums: "색이 진할수록 가중치가 크고, 한 토큰의 가중치를 모두 더하면 1입니다.",
  sumsWords:
    "색이 진할수록 가중치가 큽니다. 단어 사이의 가중치는 보이는 쪽 토큰에 대해 더하고 보는 쪽 토큰에 대해 평균한 값입니다.",
  looks: (token, parts) => `${token} → ${parts}`,
  looked: (token, parts) => `${token} ← ${parts}`,
  point: "토큰을 가리키면 가중치가 보입니다.",
  start: "시작",
  end: "끝",
  searchNote: (beam) =>
    `단계마다 번역의 앞부분 가운데 가장 좋은 ${beam}개를 남깁니다. 맨 위가 가장 좋은 것이고, 숫자는 로그 확률입니다. 색이 있는 선을 따라가면 가장 좋은 번역에 이릅니다.`,
  stepsNote: (tokens, steps) =>
    `토큰 ${tokens}개를 ${steps}단계에 썼습니다. 한 줄은 한 단계에서 마지막으로 쓴 토큰들입니다.`,
  searchOther: "빠른 엔진은 값을 반올림하므로 이 탐색과 다른 번역을 골랐습니다.",
  tree: "빔 서치 트리",
  found: "탐색으로 찾은 번역",
  score: "점수",
  logProbability: "로그 확률",
  greedy: "그리디 서치",
  greedyNote: "앞을 내다보지 않고 단계마다 확률이 가장 높은 토큰을 고릅니다.",
  same: "가장 좋은 번역과 같음",
  differs: "다른 번역",
  nextNote: "원문과 앞의 모든 토큰이 주어졌을 때, 모델이 이 자리에 올 확률을 가장 높게 본 토큰들입니다.",
  step: (step, steps) => `토큰 ${step} / ${steps}`,
  stepLabel: "번역문의 몇 번째 토큰",
  written: "생성된 토큰",
  notAmong: "실제로 생성된 토큰은 확률이 가장 높은 열 개에 들지 않습니다.",
  positionsNote:
    "트랜스포머는 모든 토큰을 한꺼번에 봅니다. 순서를 알려 주는 것은 토큰의 임베딩에 더해지는 이 사인파입니다(논문 3.5절). 행은 토큰, 열은 모델의 차원입니다.",
  side: "어느 쪽 토큰",
  dimension: "차원",
  pointValue: "그림을 가리키면 값이 보입니다.",
  value: (token, position, dimension, value) => `${token}, 위치 ${position}, 차원 ${dimension}: ${value}`,
  save: "저장",
  saveSvg: "지금 그림을 SVG로",
  savePng: "지금 그림을 PNG로",
  saveHtml: "전체를 HTML 파일 하나로",
  walkFollow: "번역문의 어느 토큰을 따라갈지",
  walkBack: "이전",
  walkOn: "다음 단계",
  walkCount: (step, steps) => `${step} / ${steps}`,
  layer: (layer) => `층 ${layer}`,
  tagNote: (tag) => `“${tag}”는 글 앞에 붙는 토큰으로, 어느 언어로 번역할지 모델에 알려 줍니다.`,
  byteNote: (token) => `“${token}”는 바이트입니다. 어휘에 없는 글자는 바이트로 나누어 나타냅니다.`,
  walk: {
    tokens: {
      title: "글을 토큰으로 나눕니다",
      text: (_, { source }) =>
        `모델은 숫자를 읽으므로 글을 정해진 어휘의 조각 ${source.tokens.length}개로 나눕니다. 점으로 시작하는 조각은 앞 조각에 이어지고, “끝”은 문장을 닫습니다.`,
    },
    positions: {
      title: "토큰마다 벡터와 위치가 생깁니다",
      text: () =>
        "토큰의 임베딩은 그것이 무엇인지 말하지만 어디에 있는지는 말하지 않습니다. 그래서 위치마다 다른 사인파 무늬를 더합니다. 아래의 한 행이 한 위치입니다.",
    },
    attention: {
      title: "셀프 어텐션: 토큰이 서로를 읽습니다",
      text: () =>
        "모든 토큰이 한꺼번에 다른 토큰에서 필요한 것을 가져옵니다. 선이 진할수록 왼쪽 토큰이 오른쪽 토큰에서 많이 가져온 것입니다(인코더 마지막 층의 헤드 평균).",
    },
    feedForward: {
      title: "피드포워드: 토큰마다 따로",
      text: () =>
        "그다음 작은 신경망이 토큰을 하나씩 바꿉니다. 모든 위치에서 같은 신경망입니다. 한 토큰에 반응하는 내부 유닛은 일부뿐이고, 막대는 그 비율을 보여 줍니다.",
    },
    cross: {
      title: "디코더가 원문을 봅니다",
      text: (token) =>
        `“${token}”을(를) 생성할 때 디코더는 지금까지 생성한 것을 인코딩된 원문과 견주어 이 토큰들에서 가장 많이 가져옵니다. 다른 토큰을 골라 따라가 보세요.`,
    },
    next: {
      title: "다음 토큰",
      text: (token) =>
        `이 모든 것에서 어휘의 모든 토큰에 대한 확률이 나옵니다. “${token}”이(가) 생성된 자리에서 확률이 가장 높았던 토큰들입니다.`,
    },
    again: {
      title: "끝날 때까지 되풀이합니다",
      text: (_, { target }) =>
        `생성한 토큰은 다음 단계의 입력이 됩니다. ${target.tokens.length}단계 만에 모델이 “끝”을 생성했습니다. 빔 서치는 여러 앞부분을 동시에 따라가며 가장 좋은 것을 남깁니다(“빔 서치” 참고).`,
    },
  },
  touch: {
    hover: "단어를 누르면 어느 단어에서 왔는지 보입니다.",
    point: "토큰을 누르면 가중치가 보입니다.",
    pointValue: "그림을 누르면 값이 보입니다.",
  },
};

// A language that the viewer does not speak gets English. Where there is no pointer, one taps instead of pointing.
export function strings(language) {
  const said = /^ko\b/i.test(language) ? KOREAN : ENGLISH;
  return matchMedia("(hover: none), (pointer: coarse)").matches ? { ...said, ...said.touch } : said;
}
