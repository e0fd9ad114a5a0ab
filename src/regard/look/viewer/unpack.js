// What a Look's JSON holds, as numbers and names.

// The tensors of look/packed.py.
export function unpack({ shape, low, high, data }) {
  const bytes = atob(data);
  const values = new Float32Array(bytes.length / 2);
  for (let n = 0; n < values.length; n++) {
    values[n] = low + ((high - low) * (bytes.charCodeAt(2 * n) + 256 * bytes.charCodeAt(2 * n + 1))) / 65535;
  }
  return { shape, values };
}

// The weights of one head: rows look, columns are looked at.
export function ofHead({ shape, values }, layer, head) {
  const [, heads, rows, columns] = shape;
  const start = (layer * heads + head) * rows * columns;
  return { rows, columns, values: values.subarray(start, start + rows * columns) };
}

// The same between whole words: the sum over the tokens that are looked at, the mean over those that look.
export function betweenWords(weights, rowWords, columnWords) {
  const rows = rowWords[rowWords.length - 1] + 1;
  const columns = columnWords[columnWords.length - 1] + 1;
  const sizes = Array(rows).fill(0);
  rowWords.forEach((word) => sizes[word]++);
  const values = new Float32Array(rows * columns);
  for (let row = 0; row < weights.rows; row++) {
    for (let column = 0; column < weights.columns; column++) {
      const weight = weights.values[row * weights.columns + column];
      values[rowWords[row] * columns + columnWords[column]] += weight / sizes[rowWords[row]];
    }
  }
  return { rows, columns, values };
}

// Who looks and who is looked at. The decoder reads what it wrote, after a first token that stands for the start.
export function sides(sentence, kind) {
  const { source, target } = sentence;
  const read = {
    tokens: ["<s>", ...target.tokens.slice(0, -1)],
    words: ["<s>", ...target.words.slice(0, -1)],
    word_of: [0, ...target.word_of.slice(0, -1).map((word) => word + 1)],
  };
  const looking = kind === "encoder" ? source : target;
  return [looking, kind === "decoder" ? read : source];
}

// A token before the source that tells the model into which language to translate, such as <2de>.
export function isTag(token) {
  return /^<2.+>$/.test(token);
}

// A token as people read it: one that goes on with a word begins with a dot.
export function shownToken(token, say) {
  if (token === "<s>") return say.start;
  if (token === "</s>") return say.end;
  if (isTag(token)) return `→ ${token.slice(2, -1)}`;
  if (/^<.+>$/.test(token)) return token;
  return token.startsWith("▁") ? token.slice(1) || "␣" : `·${token}`;
}

export function shownWord(word, say) {
  if (word === "<s>") return say.start;
  if (isTag(word)) return shownToken(word, say);
  return word === "</s>" ? say.end : word;
}

export function figure(value, digits) {
  return value.toFixed(digits).replace("-", "−");
}

export function percent(value) {
  return `${(100 * value).toFixed(value < 0.0995 ? 1 : 0)} %`;
}
