"""XLIFF of both versions, and a translation memory."""

OLD = """<?xml version="1.0" encoding="UTF-8"?>
<xliff version="1.2" xmlns="urn:oasis:names:tc:xliff:document:1.2">
 <file original="a" source-language="en" datatype="plaintext"><body>
  <trans-unit id="1"><source>Hello <g id="1">brave</g> <x id="2"/> world</source></trans-unit>
  <trans-unit id="2"><source>Red apples</source><target state="translated">Rote Äpfel</target></trans-unit>
  <trans-unit id="3"><source>안녕 친구</source>
   <target state="new"/><note>a note</note></trans-unit>
  <trans-unit id="4" translate="no"><source>As it is</source></trans-unit>
  <group translate="no"><trans-unit id="5"><source>As it is</source></trans-unit></group>
  <trans-unit id="6"><source>One. Two.</source><seg-source><mrk mtype="seg" mid="1">One.</mrk>
   <mrk mtype="seg" mid="2">Two it.</mrk></seg-source></trans-unit>
  <trans-unit id="7">
   <source><bpt id="1">&lt;b&gt;</bpt>Bold<ept id="1">&lt;/b&gt;</ept> words <ph id="2">%s</ph></source></trans-unit>
 </body></file>
</xliff>
"""
NEW = """<xliff version="2.0" srcLang="en" xmlns="urn:oasis:names:tc:xliff:document:2.0">
 <file id="f"><unit id="1"><segment id="s1"><source>Hello <pc id="1">brave</pc> <ph id="2"/> world</source></segment>
  <ignorable><source> </source></ignorable>
  <segment state="initial"><source>Red apples</source><target></target></segment>
  <segment state="final"><source>As it is</source><target>So</target></segment></unit>
  <unit id="2" translate="no"><segment><source>As it is</source></segment></unit></file></xliff>
"""
MEMORY = """<?xml version="1.0"?><!DOCTYPE tmx SYSTEM "tmx14.dtd">
<tmx version="1.4"><header srclang="en-US" segtype="sentence"/><body>
 <tu tuid="1"><tuv xml:lang="en-US">
  <seg>Hello <bpt i="1">&lt;b&gt;</bpt>brave<ept i="1">&lt;/b&gt;</ept> world</seg></tuv></tu>
 <tu><tuv xml:lang="en"><seg>Red apples</seg></tuv><tuv xml:lang="de-DE"><seg>Rote Äpfel</seg></tuv></tu>
 <tu><tuv xml:lang="ko"><seg>안녕</seg></tuv></tu>
</body></tmx>
"""
