"""Dates, times, amounts, names and addresses in English and German, of which Tatoeba's sentences have few.

`mentioned` gives pairs again with other names and numbers in them; `written` fills sentences that were made up for
this. Both are drawn by the dice alone.
"""

import random
import re
from calendar import monthrange
from functools import partial

Pair = tuple[str, str]

RENAMED, RECOUNTED = 0.08, 0.4  # how often a pair with one name, or one number, comes again with another
MONTHS = dict(
    zip(
        "January February March April May June July August September October November December".split(),  # noqa: SIM905
        "Januar Februar März April Mai Juni Juli August September Oktober November Dezember".split(),  # noqa: SIM905
        strict=True,
    )
)
WEEKDAYS = {
    "Monday": "Montag",
    "Tuesday": "Dienstag",
    "Wednesday": "Mittwoch",
    "Thursday": "Donnerstag",
    "Friday": "Freitag",
    "Saturday": "Samstag",
    "Sunday": "Sonntag",
}
HOURS = {
    "one": "eins",
    "two": "zwei",
    "three": "drei",
    "four": "vier",
    "five": "fünf",
    "six": "sechs",
    "seven": "sieben",
    "eight": "acht",
    "nine": "neun",
    "ten": "zehn",
    "eleven": "elf",
    "twelve": "zwölf",
}
UNITS = {
    "euros": "Euro",
    "dollars": "Dollar",
    "pounds": "Pfund",
    "Swiss francs": "Schweizer Franken",
}
MEASURES = {
    "kilometres": "Kilometer",
    "kilometers": "Kilometer",
    "metres": "Meter",
    "miles": "Meilen",
    "kilograms": "Kilogramm",
    "litres": "Liter",
    "percent": "Prozent",
    "minutes": "Minuten",
    "hours": "Stunden",
    "seconds": "Sekunden",
}
FIRST = (  # noqa: SIM905
    "Anna Ben Clara David Emma Felix Greta Hannah Ida Jonas Karl Lena Lukas Marie Nina Oskar Paula Sofia Theo Yusuf "
    "Aylin Mehmet Minji Jisoo Haruto Yuki Chen Priya Arjun Fatima Omar Leila Ivan Olga Dmitri Katarzyna Piotr Zuzana "
    "Elif Noor Amina Kwame Zola Diego Lucía Carlos Inés João Beatriz Giulia Matteo Chloé Antoine Sven Astrid Lars "
    "Freya Siobhan Liam Niamh Bronwyn Ewan Isla Rajesh Ananya Thabo Naledi Kofi Abena Tariq Zainab "
    "Mateusz Agnieszka Björn"
).split()
LAST = (  # noqa: SIM905
    "Müller Schmidt Becker Hoffmann Schäfer Koch Richter Wolf Neumann Schwarz Braun Zimmermann Krüger Hartmann Berg "
    "Keller Vogel Lange Baker Cooper Turner Walker Hughes Patel Singh Kim Park Lee Nguyen Tran Yamada Tanaka Suzuki "
    "Garcia Vargas Moreno Silva Costa Rossi Ferrari Dubois Moreau Laurent Novak Horvat Kowalski Nowak Petrov Ivanova "
    "Andersen Hansen Lindqvist Virtanen Papadopoulos Yılmaz Demir Haddad Okafor Mensah Dlamini O'Brien McCarthy Fraser"
).split()
CITIES = (  # noqa: SIM905
    "Hamburg Köln Leipzig Bremen Stuttgart Zürich Basel Graz London Leeds Bristol Dublin Glasgow Boston Seattle Denver "
    "Toronto Seoul Busan Incheon Tokyo Osaka Taipei Paris Lyon Madrid Porto Oslo Bergen Tallinn Ankara Nairobi Lima"
).split()
DOMAINS = ("example.com", "example.org", "mail.example.net", "shop.example.de", "uni.example.edu")
FILES = ("report.pdf", "notes.txt", "plan.docx", "budget.xlsx", "photo.jpg", "C:\\data\\list.csv", "/etc/hosts")
CONSONANTS, VOWELS = "bdfgklmnprstvz", "aeiou"

# Slots: on, before, by, starting, until and since are a date with its preposition, day is a weekday with one.
SENTENCES = """
Please pay {money} {before}.|Bitte zahlen Sie {money} {before}.
Please send {money} to {mail}.|Bitte senden Sie {money} an {mail}.
Send {money} to {mail} {before}.|Senden Sie {money} {before} an {mail}.
Send the form to {mail} {by}.|Senden Sie das Formular {by} an {mail}.
Send me the file {file}, please.|Schick mir bitte die Datei {file}.
Please send the invoice to {mail}.|Bitte schicken Sie die Rechnung an {mail}.
Write to {mail} if you have any questions.|Schreiben Sie an {mail}, wenn Sie Fragen haben.
You can reach me at {mail}.|Sie erreichen mich unter {mail}.
My address is {mail}.|Meine Adresse ist {mail}.
See {url} for more information.|Weitere Informationen finden Sie unter {url}.
You can find more at {url}.|Mehr findest du unter {url}.
Please register at {url} {by}.|Bitte melden Sie sich {by} unter {url} an.
For details, see {url}.|Einzelheiten siehe {url}.
Pay {money} {by}, see {url}.|Zahlen Sie {money} {by}, siehe {url}.
I found this recipe at {url}.|Ich habe dieses Rezept unter {url} gefunden.
Open {file} and read the first page.|Öffne {file} und lies die erste Seite.
I can't open {file}.|Ich kann {file} nicht öffnen.
{file} is on my computer.|{file} ist auf meinem Computer.
The bill is {money}.|Die Rechnung beträgt {money}.
The ticket costs {money}.|Die Fahrkarte kostet {money}.
The rent is {money} a month.|Die Miete beträgt {money} im Monat.
I owe {name} {money}.|Ich schulde {name} {money}.
She lent me {money} {on}.|Sie hat mir {on} {money} geliehen.
We need {money} more.|Wir brauchen noch {money}.
It costs {money} per person.|Es kostet {money} pro Person.
The price rose to {money}.|Der Preis ist auf {money} gestiegen.
He earns {money} a year.|Er verdient {money} im Jahr.
I transferred {money} to your account {on}.|Ich habe {on} {money} auf Ihr Konto überwiesen.
We meet {on}.|Wir treffen uns {on}.
We will meet {on} at {clock}.|Wir treffen uns {on} um {clock}.
Let's meet {day} at {clock}.|Treffen wir uns {day} um {clock}.
The meeting is {day} at {clock}.|Die Besprechung ist {day} um {clock}.
The course begins {on}.|Der Kurs beginnt {on}.
The film starts at {clock}.|Der Film fängt um {clock} an.
The train leaves at {clock}.|Der Zug fährt um {clock} ab.
The train to {city} leaves at {clock}.|Der Zug nach {city} fährt um {clock} ab.
The next train to {city} leaves in {number} minutes.|Der nächste Zug nach {city} fährt in {number} Minuten.
Your flight to {city} is {on} at {clock}.|Ihr Flug nach {city} geht {on} um {clock}.
We arrive in {city} {on}.|Wir kommen {on} in {city} an.
I will be in {city} {until}.|Ich bin {until} in {city}.
I have lived in {city} {since}.|Ich wohne {since} in {city}.
The shop is closed {starting}.|Das Geschäft ist {starting} geschlossen.
The shop opens at {clock}.|Das Geschäft öffnet um {clock}.
The office is closed {on}.|Das Büro ist {on} geschlossen.
The offer is valid {until}.|Das Angebot gilt {until}.
The deadline is {date}.|Die Frist endet am {date}.
Today is {date}.|Heute ist der {date}.
My birthday is {on}.|Ich habe {on} Geburtstag.
She was born {on}.|Sie wurde {on} geboren.
{person} was born in {city} {on}.|{person} wurde {on} in {city} geboren.
{person} died {on}.|{person} starb {on}.
The company was founded in {year}.|Die Firma wurde {year} gegründet.
He has been working here since {year}.|Er arbeitet seit {year} hier.
I bought this car in {year}.|Ich habe dieses Auto {year} gekauft.
Please answer {by}.|Bitte antworten Sie {by}.
Please call me back {before}.|Bitte rufen Sie mich {before} zurück.
Can we postpone it until {weekday}?|Können wir es auf {weekday} verschieben?
Are you free {day} at {clock}?|Hast du {day} um {clock} Zeit?
I have an appointment {day}.|Ich habe {day} einen Termin.
I have an appointment with {person} at {clock}.|Ich habe um {clock} einen Termin bei {person}.
Your order number is {number}.|Ihre Bestellnummer ist {number}.
Your order was sent {on}.|Ihre Bestellung wurde {on} verschickt.
The package weighs {number} kilograms.|Das Paket wiegt {number} Kilogramm.
It is {measure}.|Es sind {measure}.
It is {number} kilometres to {city}.|Bis {city} sind es {number} Kilometer.
We drove {number} kilometres {day}.|Wir sind {day} {number} Kilometer gefahren.
It takes about {number} minutes.|Es dauert etwa {number} Minuten.
About {number} people were there.|Es waren etwa {number} Leute da.
The temperature is {number} degrees.|Die Temperatur beträgt {number} Grad.
Page {number} is missing.|Seite {number} fehlt.
Read chapter {number} by {weekday}.|Lies Kapitel {number} bis {weekday}.
My room number is {number}.|Meine Zimmernummer ist {number}.
Take bus {number} to the station.|Nehmen Sie den Bus {number} zum Bahnhof.
{number} percent of the people said yes.|{number} Prozent der Leute sagten ja.
The city has {number} inhabitants.|Die Stadt hat {number} Einwohner.
My name is {person}.|Ich heiße {person}.
This is my colleague {person}.|Das ist mein Kollege {person}.
Do you know {person}?|Kennst du {person}?
{name} and {person} are getting married {on}.|{name} und {person} heiraten {on}.
{name} asked {person} for help.|{name} bat {person} um Hilfe.
{person} lives in {city}.|{person} wohnt in {city}.
Please say hello to {name}.|Grüß bitte {name}.
Mr {surname} is not in today.|Herr {surname} ist heute nicht da.
Mrs {surname} will call you {day}.|Frau {surname} ruft Sie {day} an.
Dr {surname} has time {day} at {clock}.|Dr. {surname} hat {day} um {clock} Zeit.
Dear Mr {surname}, thank you for your letter.|Sehr geehrter Herr {surname}, vielen Dank für Ihren Brief.
Dear Mrs {surname}, thank you for your message.|Sehr geehrte Frau {surname}, vielen Dank für Ihre Nachricht.
How are you, {name}?|Wie geht es dir, {name}?
The password is {number}.|Das Passwort ist {number}.
Call {number} for a taxi.|Wählen Sie {number} für ein Taxi.
I will pay you back {money} {by}.|Ich zahle dir {money} {by} zurück.
Please transfer {money} {by} and write to {mail}.|Bitte überweisen Sie {money} {by} und schreiben Sie an {mail}.
"""
TEMPLATES = [tuple(line.split("|")) for line in SENTENCES.strip().splitlines()]
_SLOT = re.compile(r"\{(\w+)\}")
_NAME = re.compile(r"\b(?:Tom|Mary|Maria|John|Johannes|Sami|Layla|Ken|Boston|Ziri)\b(?!['’])")
_NUMBER = re.compile(r"(?<![\w.,:])\d{1,4}(?![\w:]|[.,]\d|\.\s[A-ZÄÖÜ])")


def mentioned(pairs: list[Pair], dice: random.Random) -> list[Pair]:
    """Return pairs that have one name or one number, the same on both sides, with others in their places."""
    found = []
    for pair in pairs:
        for pattern, chance, other in ((_NAME, RENAMED, _name), (_NUMBER, RECOUNTED, _whole_number)):
            ours, theirs = (pattern.findall(side) for side in pair)
            if len(ours) == 1 and ours == theirs and dice.random() < chance:
                new = other(dice)
                source, target = (pattern.sub(new, side) for side in pair)
                found.append((source, target))
    return found


def written(count: int, dice: random.Random) -> list[Pair]:
    """Return so many English-German pairs of each sentence above."""
    return [_filled(english, german, dice) for english, german in TEMPLATES for _ in range(count)]


def _filled(english: str, german: str, dice: random.Random) -> Pair:
    slots = {slot: _slot(slot, dice) for slot in dict.fromkeys(_SLOT.findall(english))}
    source, target = (_SLOT.sub(partial(_put, slots, side), text) for side, text in enumerate((english, german)))
    return source.replace("..", "."), target  # at 3 p.m.


def _put(slots: dict[str, Pair], side: int, found: re.Match[str]) -> str:
    return slots[found[1]][side]


def _slot(slot: str, dice: random.Random) -> Pair:
    prepositions = {
        "on": ("on", "am"),
        "before": ("before", "vor dem"),
        "by": ("by", "bis zum"),
        "starting": ("from", "ab dem"),
        "until": ("until", "bis zum"),
        "since": ("since", "seit dem"),
    }
    if slot in prepositions:
        english, german = _date(dice)
        return f"{prepositions[slot][0]} {english}", f"{prepositions[slot][1]} {german}"
    same = {"name": _name, "number": _number, "mail": _mail, "url": _url}
    if slot in same:
        text = same[slot](dice)
        return text, text
    match slot:
        case "date":
            return _date(dice)
        case "day":
            english, german = dice.choice(list(WEEKDAYS.items()))
            following = dice.random() < 0.2
            return (f"next {english}", f"nächsten {german}") if following else (f"on {english}", f"am {german}")
        case "weekday":
            return dice.choice(list(WEEKDAYS.items()))
        case "clock":
            return _clock(dice)
        case "money":
            english, german = dice.choice(list(UNITS.items()))
        case "measure":
            english, german = dice.choice(list(MEASURES.items()))
        case "year":
            english = german = str(dice.randrange(1800, 2031))
            return english, german
        case "person":
            english = german = f"{_name(dice)} {dice.choice(LAST)}"
            return english, german
        case "surname":
            english = german = dice.choice(LAST) if dice.random() < 0.7 else _made_up(dice)
            return english, german
        case "city":
            english = german = dice.choice(CITIES)
            return english, german
        case "file":
            english = german = dice.choice(FILES)
            return english, german
        case _:
            raise ValueError(slot)
    number = _number(dice)
    return f"{number} {english}", f"{number} {german}"


def _date(dice: random.Random) -> Pair:
    """Return a date in one of English's five forms, and in German, sometimes with a year."""
    number = dice.randint(1, 12)
    month, monat = list(MONTHS.items())[number - 1]
    day = dice.randint(1, monthrange(2024, number)[1])
    ending = "th" if day in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(day % 10, "th")
    year = f" {dice.randrange(1950, 2035)}" if dice.random() < 0.25 else ""
    comma = "," if year else ""
    english = dice.choice(
        (
            f"{day} {month}{year}",
            f"{month} {day}{comma}{year}",
            f"{month} {day}{ending}{comma}{year}",
            f"{day}{ending} {month}{year}",
            f"the {day}{ending} of {month}{year}",
        )
    )
    return english, f"{day}. {monat}{year}"


def _clock(dice: random.Random) -> Pair:
    """Return a time of the day, as what follows "at" and "um"."""
    hours = list(HOURS.items())
    number = dice.randrange(12)
    (hour, stunde), (_, later) = hours[number], hours[(number + 1) % 12]
    full = "ein" if stunde == "eins" else stunde
    minutes = f"{dice.randrange(24)}:{dice.randrange(0, 60, 5):02}"
    return dice.choice(
        (
            (f"{hour} o'clock", f"{full} Uhr"),
            (f"half past {hour}", f"halb {later}"),
            (f"a quarter past {hour}", f"Viertel nach {stunde}"),
            (f"a quarter to {hour}", f"Viertel vor {stunde}"),
            (f"ten past {hour}", f"zehn nach {stunde}"),
            (minutes, f"{minutes} Uhr"),
            (f"{number + 1} p.m.", f"{(number + 13) if number < 11 else 12} Uhr"),
            (f"{number + 1} a.m.", f"{number + 1 if number < 11 else 0} Uhr"),
        )
    )


def _name(dice: random.Random) -> str:
    return dice.choice(FIRST) if dice.random() < 0.7 else _made_up(dice)


def _made_up(dice: random.Random) -> str:
    """Return a name that no vocabulary has: two or three syllables."""
    syllables = (dice.choice(CONSONANTS) + dice.choice(VOWELS) for _ in range(dice.choice((2, 2, 3))))
    return ("".join(syllables) + dice.choice(("", "n", "r", "s", "k", "l"))).capitalize()


def _whole_number(dice: random.Random) -> str:
    return str(dice.choice((dice.randint(2, 99), dice.randint(100, 9999))))


def _number(dice: random.Random) -> str:
    return dice.choice(
        (
            _whole_number(dice),
            _whole_number(dice),
            f"{dice.randint(1, 99)},{dice.randrange(1000):03}",
            f"{dice.randint(1, 999)}.{dice.randrange(100):02}",
            f"{dice.randint(1, 99)},{dice.randrange(1000):03}.{dice.randrange(100):02}",
        )
    )


def _mail(dice: random.Random) -> str:
    name = re.sub(r"[^a-z]", "", _name(dice).lower()) or "info"
    return f"{dice.choice((name, 'info', name + '.' + dice.choice('abcdefgh')))}@{dice.choice(DOMAINS)}"


def _url(dice: random.Random) -> str:
    way = "/".join(_made_up(dice).lower() for _ in range(dice.randint(0, 2)))
    rest = dice.choice(("", "?a=1", "?id=27&b=2", "#top"))
    return f"https://{dice.choice(('', 'www.'))}{dice.choice(DOMAINS)}/{way}{rest}"
