// To point at a word, or to put the caret into it, lights up the words that it is aligned with on the other side.

const STEPS = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 };

// `pairs` gives a promise of the numbers of aligned words, [source, target], or nothing where none are known; told that
// it is wanted (or only welcome), it may ask the server for them.
export function alignment(given, answer, pairs) {
  const sides = [given, answer];
  let turn = 0;

  async function light(side, number, wanted) {
    const own = ++turn;
    if (number === null) return dark();
    const known = await pairs(wanted);
    if (own !== turn) return;
    const aligned = (known ?? []).filter((pair) => pair[side] === number);
    sides.forEach((pane, at) => {
      const others = aligned.map((pair) => pair[at]);
      pane.light(new Set(known && at === side ? [number, ...others] : others));
    });
  }
  function dark() {
    turn += 1;
    sides.forEach((pane) => pane.light(new Set()));
  }
  sides.forEach((pane, side) => {
    pane.field.addEventListener("pointermove", (event) => light(side, pane.under(event.clientX, event.clientY), true));
    pane.field.addEventListener("pointerleave", dark);
    pane.field.addEventListener("blur", dark);
    pane.field.addEventListener("input", dark);
  });
  document.addEventListener("selectionchange", () => {
    const side = sides.findIndex((pane) => pane.field === document.activeElement);
    if (side >= 0) light(side, sides[side].atCaret(), side === 1);
  });
  // What can't be written in has no caret; there, arrows go from word to word.
  answer.field.addEventListener("keydown", (event) => {
    if (!(event.key in STEPS) || event.shiftKey || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    const turned = /Left|Right/.test(event.key) && answer.field.matches(":dir(rtl)");
    answer.step(turned ? -STEPS[event.key] : STEPS[event.key]);
  });
}
