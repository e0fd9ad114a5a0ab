"""The demo's report: one HTML file without scripts and external resources."""

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from regard.demo.lesson import Answered, Drawn, Points
from regard.look.attention_map import attention_map
from regard.look.curve import curve
from regard.look.page import opening

STYLE = """
:root { color-scheme: light dark; --paper: #fcfcfa; --ink: #1d2126; --soft: #5c6570; --line: #dfe2e6; --blue: #1f5fbf;
  --wrong: #b3261e; }
@media (prefers-color-scheme: dark) {
  :root { --paper: #14171b; --ink: #e6e8eb; --soft: #9aa4af; --line: #2e353d; --blue: #7db2ff; --wrong: #ff9a8f; }
}
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 52rem; padding: 1.5rem 1rem 4rem; background: var(--paper); color: var(--ink);
  font: 16px/1.55 system-ui, "Noto Sans", "Noto Sans CJK KR", "Noto Sans KR", "Apple SD Gothic Neo", "Malgun Gothic",
  "Hiragino Sans", "Yu Gothic", sans-serif; }
h1 { font-size: 1.6rem; line-height: 1.25; margin: 0 0 .5rem; }
h2 { font-size: 1.15rem; margin: 2.5rem 0 .5rem; }
p { margin: .5rem 0; }
small, .soft { color: var(--soft); font-size: .875rem; }
.figures { display: flex; flex-wrap: wrap; gap: .75rem 2.5rem; margin: 1.25rem 0; padding: 0; list-style: none; }
.figures b { display: block; font-size: 1.7rem; line-height: 1.2; font-variant-numeric: tabular-nums; }
table { border-collapse: collapse; width: 100%; }
th, td { padding: .35rem .75rem .35rem 0; text-align: start; vertical-align: top;
  border-bottom: 1px solid var(--line); }
th { font-weight: 600; font-size: .875rem; color: var(--soft); }
td span { font-variant-numeric: tabular-nums; white-space: nowrap; }
.wrong { color: var(--wrong); }
.pair { display: flex; flex-wrap: wrap; gap: 1rem 2rem; }
figure { margin: .75rem 0; flex: 1 1 18rem; }
figcaption { margin-top: .5rem; color: var(--soft); font-size: .875rem; }
svg { display: block; max-width: 100%; height: auto; font-size: 15px; }
svg.curve { font-size: 12px; }
svg .weights, svg .line { color: var(--blue); }
pre { margin: .5rem 0 1rem; padding: .6rem .8rem; border: 1px solid var(--line); border-radius: 6px;
  overflow-wrap: anywhere; white-space: pre-wrap;
  font: .875rem/1.5 ui-monospace, "DejaVu Sans Mono", "Noto Sans Mono CJK KR", monospace; }
"""


@dataclass(frozen=True)
class Findings:
    """The results of the demo."""

    trained: int
    """Number of training examples."""
    dates: float
    """Exact match on held-out dates."""
    formats: float
    """Exact match on held-out dates in held-out formats."""
    held_out: int
    """Number of held-out dates; those in held-out formats are slightly fewer."""
    by_language: dict[str, tuple[float, float]]
    """Both exact matches by language."""
    examples: list[Answered]
    picture: Drawn
    pictured: str
    loss: Points
    exact_match: Points
    seconds: float
    commands: list[tuple[str, str]]
    """Commands to try next, each with its purpose."""


def page(found: Findings) -> str:
    """Return the report as HTML, with a strict Content-Security-Policy."""
    answer = "".join(found.picture.target)
    return f"""{opening("regard demo: dates", STYLE)}<h1>A Transformer learned to read dates</h1>
<p>It began with random numbers and saw {found.trained:,} dates, as they are written in six languages, each with its ISO
8601 form. Nobody told it which language it reads, what a month is, or that 3 becomes 03.</p>
<ul class="figures">
<li><b>{found.dates:.1%}</b> exactly right, of {found.held_out:,} dates it never saw</li>
<li><b>{found.formats:.1%}</b> where the format was new, too</li>
<li><b>{found.seconds:.0f} s</b> for everything</li>
</ul>
<h2>What it looked at</h2>
<p>To write each character of {escape(answer)}, the decoder looks back at {escape(found.pictured)}. The
stronger the colour of a square, the more of that attention (equation 1 of the paper; the mean of the heads).</p>
<figure>
{attention_map(found.picture.weights_TS, found.picture.source, found.picture.target)}
<figcaption>Down: what it wrote. Across: what it read; ␣ is a space, “end” the end of the text. Point at a square for
its weight.</figcaption>
</figure>
<h2>How it learned</h2>
<div class="pair">
<figure>{curve(found.loss, "Loss", form=".2f")}<figcaption>Loss per token, in training</figcaption></figure>
<figure>{curve(found.exact_match, "Exact match", highest=1.0, form=".0%")}
<figcaption>Exact match, held-out dates</figcaption></figure>
</div>
<h2>Dates it never saw</h2>
<p class="soft">The first few of the held-out ones, not the best.</p>
<table>
<thead><tr><th>written</th><th>the model</th></tr></thead>
<tbody>
{_examples(found.examples)}
</tbody>
</table>
<h2>By language</h2>
<table>
<thead><tr><th>language</th><th>new dates</th><th>new dates in a new format</th></tr></thead>
<tbody>
{_languages(found.by_language)}
</tbody>
</table>
<p class="soft">Left out are formats that are another date elsewhere (10/11/2025) and those without the century. The new
format of a language has parts that were learned, but not together.</p>
<h2>Next</h2>
{_commands(found.commands)}
</body>
</html>
"""


def _examples(examples: Sequence[Answered]) -> str:
    return "\n".join(f"<tr><td>{escape(one.example.text)}</td><td>{_answer(one)}</td></tr>" for one in examples)


def _answer(one: Answered) -> str:
    if one.right:
        return f"<span>{escape(one.answer)}</span>"
    return f'<span class="wrong">{escape(one.answer)}</span> <span>is {escape(one.example.iso)}</span>'


def _languages(figures: dict[str, tuple[float, float]]) -> str:
    return "\n".join(
        f"<tr><td>{escape(language)}</td><td>{dates:.1%}</td><td>{formats:.1%}</td></tr>"
        for language, (dates, formats) in figures.items()
    )


def _commands(commands: Sequence[tuple[str, str]]) -> str:
    return "\n".join(f"<p>{escape(why)}</p>\n<pre>{escape(command)}</pre>" for why, command in commands)
