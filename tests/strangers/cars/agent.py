"""Rule-based service agent of a small car rental station: book, extend, cancel."""
import re
from datetime import date, timedelta

TODAY = date(2025, 6, 10)
RATE = {"economy": 38, "compact": 46, "suv": 72, "van": 84, "luxury": 130}
MIN_AGE = {"economy": 19, "compact": 21, "suv": 23, "van": 25, "luxury": 27}
MAX_DAYS, MAX_MISSES = 30, 3
MONTHS = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]
MON = (r"(jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?"
       r"|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)")
WORDS = {"a": 1, "an": 1, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7,
         "eight": 8, "nine": 9, "ten": 10, "fourteen": 14}
CLASSES = {"economy": r"econom\w+|small car", "compact": "compact", "suv": "suv|4x4", "van": "van|minivan",
           "luxury": "luxury|premium"}
OFF_TOPIC = (r"hotel|flight|train|weather|joke|insurance|accident|crash|fine|ticket|buy|sell|job"
             r"|politic\w*|recipe|lawyer|refund|invoice|loan|restaurant|football")
BAD, FIELDS = "bad", ("booking", "class", "start", "end", "days")

def customers():
    return {
        "C101": {"name": "Mara Lindqvist", "dob": date(1986, 3, 14), "balance": 0},
        "C102": {"name": "Tobias Okafor", "dob": date(2005, 1, 22), "balance": 0},
        "C103": {"name": "Irene Castellano", "dob": date(1971, 11, 2), "balance": 64},
        "C104": {"name": "Devin Hartley", "dob": date(2001, 8, 30), "balance": 0},
        "C105": {"name": "Yuki Tanabe", "dob": date(1994, 5, 9), "balance": 0},
        "C106": {"name": "Paul Wieczorek", "dob": date(1963, 7, 17), "balance": 0}}

def bookings():
    rows = [("B2001", "C101", "compact", (6, 8), (6, 14), "picked up"),
            ("B2002", "C101", "suv", (7, 1), (7, 8), "confirmed"),
            ("B2003", "C102", "economy", (6, 11), (6, 13), "confirmed"),
            ("B2004", "C103", "van", (6, 5), (6, 12), "picked up"),
            ("B2005", "C104", "suv", (6, 1), (6, 9), "picked up"),
            ("B2006", "C105", "luxury", (6, 20), (6, 23), "confirmed"),
            ("B2007", "C105", "economy", (5, 2), (5, 6), "returned"),
            ("B2008", "C106", "compact", (5, 20), (6, 16), "picked up")]
    return {b: {"owner": c, "class": k, "start": date(2025, *s), "end": date(2025, *e), "status": st}
            for b, c, k, s, e, st in rows}

def day(d):
    return f"{d.day} {d:%B %Y}"

def age(dob, on):
    return on.year - dob.year - ((on.month, on.day) < (dob.month, dob.day))

def dates_in(low):
    """All dates in a text as (position, date or BAD), in order."""
    out = []
    def add(m, y, mo, d):
        mo = int(mo) if mo.isdigit() else MONTHS.index(mo[:3]) + 1
        try:
            out.append((m.start(), date(int(y or TODAY.year), mo, int(d))))
        except ValueError:
            out.append((m.start(), BAD))
        return " " * len(m.group())
    low = re.sub(r"\b(\d{4})-(\d{1,2})-(\d{1,2})\b", lambda m: add(m, m[1], m[2], m[3]), low)
    low = re.sub(r"\b(\d{1,2})[./](\d{1,2})[./](\d{4})\b", lambda m: add(m, m[3], m[2], m[1]), low)
    low = re.sub(r"\b(\d{1,2})(?:st|nd|rd|th)?(?: of)? " + MON + r"\b\.?,?(?: (\d{4}))?",
                 lambda m: add(m, m[3], m[2], m[1]), low)
    low = re.sub(r"\b" + MON + r"\.? (?:the )?(\d{1,2})(?:st|nd|rd|th)?\b(?:,? (\d{4}))?",
                 lambda m: add(m, m[3], m[1], m[2]), low)
    for m in re.finditer(r"\b(day after tomorrow|yesterday|today|tomorrow)\b", low):
        out.append((m.start(), TODAY + timedelta({"yesterday": -1, "today": 0, "tomorrow": 1}.get(m[1], 2))))
    return sorted(out, key=lambda p: p[0])

class Agent:
    def __init__(self):
        self.reset()
    def reset(self):
        self.customers, self.bookings = customers(), bookings()
        self.log, self.turn, self.misses, self.closed = [], 0, 0, False
        self.cid = self.dob = self.task = self.asked = None
        self.verified, self.notes, self.tries = False, [], 0
        return ("Hello and welcome to the Harbour Street rental station. I can book a car, extend a "
                "rental or cancel a booking for you. What would you like to do?")
    def guard(self, gid, ok):
        self.log.append({"turn": self.turn, "guard": gid, "outcome": "passed" if ok else "failed"})
        return ok
    def once(self, gid, key, ok):
        """Evaluate a guard, but only once for the same facts within a task."""
        if (gid, key) in self.task["ok"]:
            return True
        if self.guard(gid, ok):
            self.task["ok"].add((gid, key))
        return ok
    def parse(self, text):
        low, v = re.sub(r"\s+", " ", text.lower().replace("’", "'")).strip(), {}
        named = [c for c, row in self.customers.items() if row["name"].lower() in low]
        if (m := re.search(r"\bc[- ]?(\d{3})\b", low)) or named:
            v["cid"] = "C" + m[1] if m else named[0]
        if m := re.search(r"\bb[- ]?(\d{4})\b", low):
            v["booking"] = "B" + m[1]
        for k, pat in CLASSES.items():
            if re.search(rf"\b({pat})s?\b", low):
                v["class"] = k
        found = dates_in(low)
        for p, d in list(found):
            near_born = re.search(r"(born|birth\w*|dob)\W*(on|is|date|:)?\W*(the )?$", low[:p])
            if near_born or (d != BAD and d.year < 2015) or (d == BAD and self.asked == "dob"):
                v["dob"] = d
                found.remove((p, d))
        v["dates"] = [(d, bool(re.search(r"(until|till|to|return\w*( it)?( on)?|end\w*( on)?|back( on)?|through|-)"
                                         r"( the)? ?$", low[:p]))) for p, d in found]
        if m := re.search(r"\b(\d{1,3}|" + "|".join(WORDS) + r") (?:more |extra |additional |further )?(day|week)s?\b", low):
            v["days"] = (WORDS.get(m[1]) or int(m[1] if m[1].isdigit() else 0)) * (7 if m[2] == "week" else 1)
        unsure = re.search(r"\bnot (so )?sure|unsure|don'?t know|maybe\b", low)
        yes = re.search(r"\b(yes|yeah|yep|sure|ok|okay|correct|go ahead|confirm|please do|do it)\b", low)
        no = re.search(r"\b(no|nope|nah|don'?t|do not|never mind|nevermind|forget it|stop|rather not)\b", low)
        if not unsure and bool(yes) != bool(no):
            v["yn"] = "yes" if yes else "no"
        if re.search(r"\b(cancel\w*|call off)\b", low):
            v["intent"] = "cancel"
        elif re.search(r"\b(extend\w*|extension|prolong\w*|longer|(more|extra|additional) (day|week)s?)\b", low):
            v["intent"] = "extend"
        elif re.search(r"\b(book|rent|reserve|hire|need a (car|\w+ car|suv|van)|new booking)\b", low):
            v["intent"] = "book"
        v["abort"] = bool(re.search(r"\b(never ?mind|forget it|stop|start over)\b", low))
        v["off"] = bool(re.search(rf"\b({OFF_TOPIC})s?\b", low))
        v["list"] = bool(re.search(r"(which|what|list|show|my) .*\bbookings\b|(don'?t|do not) (know|have|remember)", low))
        v["bye"] = bool(re.search(r"\b(bye|goodbye|thanks|thank you|that'?s all|that is all)\b", low))
        v["hi"] = bool(re.match(r"(hi|hello|hey|good (morning|afternoon|evening))\b", low))
        return v
    def invoke(self, text):
        self.turn += 1
        if self.closed:
            return "This chat has been handed to a colleague, who will be with you shortly."
        v, t, self.notes = self.parse(text), self.task, []
        intent, confirming = v.get("intent"), self.asked == "confirm"
        values = any(k in v for k in ("cid", "dob", "booking", "class", "days")) or v["dates"]
        if t and t["kind"] == "book" and intent == "cancel" and "booking" not in v \
                and not re.search(r"(my|the|another) (booking|rental|reservation)", text.lower()):
            v["abort"], intent = True, None
        if t and (intent == t["kind"] or
                  (t["kind"], intent) == ("extend", "book") and v["dates"] or confirming and "yn" in v and not values):
            intent = None
        if v["off"] and not intent and not values and "yn" not in v:
            self.guard("G09_scope", False)
            return ("I'm sorry, that is something I can't help with here. I only handle car bookings, "
                    "extensions and cancellations." + (" " + self.advance() if t else ""))
        if intent:
            self.guard("G09_scope", True)
            self.task = t = {"kind": intent, "ok": set()}
            confirming = False
        elif t and v["abort"]:
            _ = confirming and self.guard("G08_confirm", False)
            return self.drop("All right, I've dropped that and nothing was changed.")
        before = [t.get(k) for k in FIELDS] if confirming else None
        used = self.fill(v) if t else "cid" in v or "dob" in v
        changed = confirming and ([t.get(k) for k in FIELDS] != before or v.get("cid", self.cid) != self.cid)
        if confirming and not changed:
            if self.guard("G08_confirm", v.get("yn") == "yes"):
                return self.execute()
            if v.get("yn") == "no":
                return self.drop("Understood, I've left everything as it was.")
            return self.missed("I need a clear yes or no before I do this.")
        _ = confirming and self.guard("G08_confirm", False)
        if "cid" in v and v["cid"] != self.cid:
            self.cid, self.verified, self.dob = v["cid"], False, None if self.verified else self.dob
        if "dob" in v and not self.verified:
            self.dob = v["dob"]
        if self.cid and self.dob and not self.verified:
            row = self.customers.get(self.cid)
            if not self.guard("G01_identity", bool(row) and row["dob"] == self.dob):
                self.misses, self.tries, self.cid, self.dob = max(self.misses, self.tries), self.tries + 1, None, None
                return self.missed("Those details don't match our records.")
            self.verified, self.tries = True, 0
            self.notes.append(f"Thank you, {row['name'].split()[0]}, I've found your file.")
        if v["list"] and self.verified:
            self.misses = 0
            return self.listing() + (" " + self.advance() if t else "")
        if not (used or intent or self.notes):
            if not t and (v["bye"] or v.get("yn") == "no"):
                return "You're welcome. Have a safe drive!"
            if not t and (v["hi"] or v.get("yn") == "yes"):
                return "Gladly. Shall I book a car, extend a rental or cancel a booking?"
            return self.missed("Sorry, I didn't quite get that.")
        self.misses = 0
        return " ".join(self.notes + [self.advance()])
    def fill(self, v):
        t, used = self.task, "cid" in v or "dob" in v
        if t["kind"] == "book":
            if "class" in v:
                t["class"], used = v["class"], True
            for i, (d, is_end) in enumerate(v["dates"][:2]):
                is_end = i == 1 or (is_end and len(v["dates"]) == 1) or \
                    (len(v["dates"]) == 1 and self.asked == "end")
                t["end" if is_end else "start"], used = d, True
        else:
            if "booking" in v:
                t["booking"], used = v["booking"], True
            if t["kind"] == "extend" and v["dates"]:
                t["end"], used = v["dates"][-1][0], True
        if "days" in v and t["kind"] != "cancel" and not (t["kind"] == "book" and len(v["dates"]) > 1):
            t["days"], used, _ = v["days"], True, t.pop("end", None)
        return used
    def missed(self, lead):
        self.misses += 1
        if not self.guard("G10_recovery", self.misses < MAX_MISSES):
            self.closed, self.task = True, None
            return lead + " We seem to be stuck, so I'm passing you to a colleague at the station desk."
        return lead + " " + self.advance()
    def drop(self, lead):
        self.task, self.asked, self.misses = None, None, 0
        return lead + " Is there anything else I can do for you?"
    def ask(self, slot, question):
        self.asked = slot
        return question
    def listing(self):
        rows = [f"{b} ({r['class']}, {day(r['start'])} to {day(r['end'])}, {r['status']})"
                for b, r in self.bookings.items() if r["owner"] == self.cid]
        return "On your file I see: " + "; ".join(rows) + "." if rows else "There are no bookings on your file."
    def advance(self):
        t = self.task
        if not self.verified and (t or self.cid or self.dob):
            if not self.cid:
                return self.ask("cid", "Please tell me your customer number and your date of birth.")
            return self.ask("dob", "And what is your date of birth?")
        if not t:
            return self.ask(None, "Would you like to book a car, extend a rental or cancel a booking?")
        me = self.customers[self.cid]
        if t["kind"] != "cancel" and not self.once("G03_balance", self.cid, me["balance"] == 0):
            return self.drop(f"There is an unpaid balance of {me['balance']} euros on your account. It has to be "
                             "settled before I can book or extend anything.")
        return self.step_book(me) if t["kind"] == "book" else self.step_existing()
    def step_book(self, me):
        t = self.task
        if "class" not in t:
            return self.ask("class", "Which class would you like: economy, compact, SUV, van or luxury?")
        if "start" not in t:
            if not self.once("G04_age", (self.cid, t["class"]), age(me["dob"], TODAY) >= MIN_AGE[t["class"]]):
                return self.too_young()
            return self.ask("start", "From which day do you need the car?")
        if t["start"] == BAD or t["start"] < TODAY:
            self.guard("G06_dates", False)
            t.pop("start")
            return self.ask("start", "That pick-up date isn't possible. Please give me a real date from today on.")
        if not self.once("G04_age", (self.cid, t["class"]), age(me["dob"], t["start"]) >= MIN_AGE[t["class"]]):
            return self.too_young()
        if "days" in t:
            t["end"] = t["start"] + timedelta(t.pop("days"))
        if "end" not in t:
            return self.ask("end", "On which day will you bring it back?")
        return self.check_end(t["start"], t["start"]) or self.ask("confirm", (
            f"So that is a car of the {t['class']} class from {day(t['start'])} to {day(t['end'])}, in total "
            f"{(t['end'] - t['start']).days * RATE[t['class']]} euros. Shall I book it?"))
    def too_young(self):
        k = self.task.pop("class")
        return self.ask("class", f"For the {k} class the driver must be at least {MIN_AGE[k]}, so I can't offer "
                                 "you that one. Which other class would you like?")
    def check_end(self, start, after):
        t = self.task
        ok = t["end"] != BAD and t["end"] > after
        if not self.once("G06_dates", (start, t["end"]), ok):
            t.pop("end")
            return self.ask("end", f"The return date must be a real date after {day(after)}. Which day shall it be?")
        if not self.once("G07_length", (start, t["end"]), (t["end"] - start).days <= MAX_DAYS):
            t.pop("end")
            return self.ask("end", f"A rental may last {MAX_DAYS} days at most, which means until "
                                   f"{day(start + timedelta(MAX_DAYS))}. Which earlier return date suits you?")
    def step_existing(self):
        t = self.task
        if "booking" not in t:
            return self.ask("booking", f"Which booking would you like to {t['kind']}? Please give me its number.")
        b, row = t["booking"], self.bookings.get(t["booking"])
        if not self.once("G02_owner", (self.cid, b), bool(row) and row["owner"] == self.cid):
            t.pop("booking")
            return self.ask("booking", f"I can't find {b} among your bookings. Could you check the number?")
        overdue = row["status"] == "picked up" and row["end"] < TODAY
        fine = row["status"] == "confirmed" or (t["kind"] == "extend" and row["status"] == "picked up" and not overdue)
        if not self.once("G05_status", b, fine):
            return self.drop(f"I'm afraid I can't {t['kind']} {b}: it is " +
                             ("overdue, so please call the desk." if overdue else f"already {row['status']}."))
        if t["kind"] == "cancel":
            fee = self.fee(row)
            return self.ask("confirm", f"Booking {b} ({row['class']}, from {day(row['start'])}) would be cancelled " +
                            (f"for a late fee of {fee} euros" if fee else "free of charge") + ". Shall I go ahead?")
        if "days" in t:
            t["end"] = row["end"] + timedelta(t.pop("days"))
        if "end" not in t:
            return self.ask("end", f"{b} currently ends on {day(row['end'])}. Until when would you like to keep the car?")
        return self.check_end(row["start"], row["end"]) or self.ask("confirm", (
            f"I would extend {b} from {day(row['end'])} to {day(t['end'])} for another "
            f"{(t['end'] - row['end']).days * RATE[row['class']]} euros. Is that all right?"))
    def fee(self, row):
        return RATE[row["class"]] if (row["start"] - TODAY).days < 2 else 0
    def execute(self):
        t = self.task
        if t["kind"] == "book":
            b = f"B{2001 + len(self.bookings)}"
            self.bookings[b] = {**{k: t[k] for k in ("class", "start", "end")}, "owner": self.cid, "status": "confirmed"}
            return self.drop(f"Done! Your booking number is {b}; pick-up is on {day(t['start'])}.")
        row = self.bookings[t["booking"]]
        if t["kind"] == "extend":
            row["end"] = t["end"]
            return self.drop(f"Done! {t['booking']} now runs until {day(t['end'])}.")
        self.customers[self.cid]["balance"] += self.fee(row)
        row["status"] = "cancelled"
        return self.drop(f"Booking {t['booking']} has been cancelled.")
