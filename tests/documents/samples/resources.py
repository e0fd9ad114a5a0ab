"""A file of each kind that programs keep their texts in."""

JSON = r"""{
  "title" : "The garden", "n": 3, "empty": "", "url": "https://x.org/a?b=c",
  "greeting": "Hello {name}, you have %d new \"messages\".\nSee {{page}}!",
  "nested": {"안녕": ["one word", "두 단어", "caf\u00e9 \ud83d\ude00"]},
  "count": "{n, plural, one {# tree} other {# trees}}", "file": "images/logo.png",
  "@title": {"description": "do not touch"}
}
"""
YAML = """# a comment: stays
en:
  title: The garden   # beside
  "quoted key": 'It''s a tree'
  other: "Two\\nlines \\u00e9 and \\"quotes\\" %{name}"
  yes_no: yes
  number: 12
  date: 2024-01-02
  plain: see {name} now
  long: a sentence that goes
    on here
  block: |
    First line.
      indented line

    Last line.
  folded: >-
    One text over
    two lines.

    A paragraph.
  flow: {a: red apples, b: [one tree, "two, trees"], 안녕: 세계 여러분}
  anchor: &x some words
  alias: *x
  tagged: !secret hidden words
  string: !!str shown words
list:
- first thing
- second thing
"""


PROPERTIES = r"""# a comment = stays
! another
title=The garden
long = one line \
    and another
key\ with\ space : It''s {0} of {1}
plain.apostrophe It's here
empty=
unicode=caf\u00e9
url=http://x.org/y
"""
STRINGS = r"""/* a comment = "stays"; */
// another
"title" = "The garden";
"count %d" = "You have %d \"new\" messages\n%@";
unquoted = "Two words";
"""
ANDROID = """<?xml version="1.0" encoding="utf-8"?>
<!-- a comment -->
<resources xmlns:xliff="urn:oasis:names:tc:xliff:document:1.2">
    <string name="title">The garden</string>
    <string name="app" translatable="false">Regard it</string>
    <string name="apostrophe">Don\\'t go &amp; \\"stay\\"</string>
    <string name="placeholders">%1$s has %2$d trees\\nand more</string>
    <string name="marked">Hello <b>brave</b> <xliff:g id="x" example="Kim">%s</xliff:g> world</string>
    <string name="html"><![CDATA[<b>As it is</b>]]></string>
    <string name="reference">@string/title</string>
    <string-array name="days"><item>Monday morning</item><item>화요일</item></string-array>
    <plurals name="trees"><item quantity="one">%d tree</item><item quantity="other">%d trees</item></plurals>
    <color name="red">#ff0000</color>
</resources>
"""
RESX = """<?xml version="1.0" encoding="utf-8"?>
<root>
  <resheader name="version"><value>2.0 text</value></resheader>
  <data name="Title" xml:space="preserve"><value>The garden</value><comment>As it is</comment></data>
  <data name="Count" xml:space="preserve"><value>{0} of {1:N2} &lt;b&gt;trees&lt;/b&gt;</value></data>
  <data name="Icon" type="System.Drawing.Bitmap" mimetype="x"><value>Base64 text</value></data>
  <data name="&gt;&gt;button.Name"><value>button one</value></data>
</root>
"""
FILES = {
    "a.json": JSON,
    "a.yaml": YAML,
    "a.properties": PROPERTIES,
    "a.strings": STRINGS,
    "strings.xml": ANDROID,
    "a.resx": RESX,
}
