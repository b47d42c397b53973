"""Rule-based appointment desk for a small dental practice (Millbrook Dental)."""
import copy
import re
from datetime import date, datetime, time, timedelta

NOW = datetime(2025, 6, 2, 9, 0)  # a Monday
PATIENTS = {
    "P1": dict(name="Harriet Cole", dob=date(1984, 3, 12), balance=0, checkup=date(2025, 1, 20)),
    "P2": dict(name="Tomasz Wrona", dob=date(1990, 11, 5), balance=0, checkup=date(2023, 9, 4)),
    "P3": dict(name="Leila Haddad", dob=date(1976, 7, 30), balance=85, checkup=date(2024, 11, 11)),
    "P4": dict(name="Owen Pritchard", dob=date(2001, 1, 19), balance=0, checkup=date(2025, 3, 3)),
    "P5": dict(name="Grace Adeyemi", dob=date(1968, 5, 8), balance=20, checkup=date(2024, 12, 2)),
    "P6": dict(name="Samuel Finch", dob=date(1995, 9, 23), balance=0, checkup=date(2024, 8, 14)),
}
APPOINTMENTS = {
    "D101": dict(who="P1", what="cleaning", at=datetime(2025, 6, 12, 10, 0), status="booked"),
    "D102": dict(who="P2", what="check-up", at=datetime(2025, 6, 17, 14, 30), status="booked"),
    "D103": dict(who="P3", what="filling", at=datetime(2025, 6, 10, 11, 0), status="booked"),
    "D104": dict(who="P4", what="check-up", at=datetime(2025, 6, 2, 15, 0), status="booked"),
    "D105": dict(who="P4", what="whitening", at=datetime(2025, 6, 20, 9, 30), status="booked"),
    "D106": dict(who="P5", what="crown fitting", at=datetime(2025, 6, 18, 15, 30), status="booked"),
    "D107": dict(who="P5", what="cleaning", at=datetime(2025, 7, 1, 11, 30), status="booked"),
    "D108": dict(who="P6", what="check-up", at=datetime(2025, 5, 12, 9, 0), status="done"),
}
TREATMENTS = [("check-up", r"check[ -]?up|examination|\bexam\b"), ("cleaning", r"clean(ing)?\b|hygien|scale and polish"),
              ("filling", r"filling"), ("crown fitting", r"crown"), ("whitening", r"whiten")]
NEEDS_CHECKUP = {"filling", "crown fitting", "whitening"}
MONTHS = "jan feb mar apr may jun jul aug sep oct nov dec".split()
DAYS = "monday tuesday wednesday thursday friday saturday sunday".split()
MON = r"(jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\.?"
SCOPE = (r"\bprices?\b|\bcosts?\b|how much|insur|painkiller|ibuprofen|antibiotic|medicin|medication|prescri|"
         r"diagnos|should i (take|use|eat)|x-?ray|refund|weather|\bjokes?\b|toothache remed|swollen|bleeding|my (son|daughter|wife|husband|mother|father|friend)\b")
CANCEL = r"\bcancel\w*|call(ing)? off|get rid of"
MOVE = r"\b(re-?schedul\w*|mov(e|ed|ing)|chang(e|ing)|postpon\w*|shift|push back|bring forward|put (it )?back)\b"
BOOK = (r"\bbook(ing)?\b|make an? |making an? |\b(new|another) (appointment|one|visit)|arrange|\bschedule|\bneed an? |need to see|"
        r"see (the|a) dentist|(like|want|have|get) an? (\w+ )?(appointment|check|clean|filling|crown|whiten|hygien|exam)|set up")
LIST = r"(what|which|when|list|show|see|any|do i have)\b.{0,30}\bappointments?\b|when am i|when is my"
YES = r"\b(yes|yeah|yep|yup|sure|ok|okay|correct|go ahead|please do|confirm(ed)?|that'?s (right|fine)|do it|sounds good|perfect|absolutely|no problem)\b"
NO = r"\b(no(?! problem)|nope|nah|don'?t|do not|not (right|that|now)|wrong|rather not)\b"
STOP = r"never ?mind|forget (it|that)|^stop\b|leave it( as it is)?\b|start over|changed my mind|cancel (that|this)\b(?! (appointment|one|visit))"
HELLO = r"^\W*(hi|hello|hey|good (morning|afternoon|evening))\b"
BYE = r"\b(bye|goodbye|thanks|thank you|that'?s all|cheers|nothing else)\b"

def nice(at):
    return f"{at:%A} {at.day} {at:%B} at {at:%H:%M}"

def clinician(what):
    return "our hygienist, Ms Lund" if what == "cleaning" else "Dr Osei"

class Agent:
    def __init__(self):
        self.log = []
        self.reset()
    def reset(self):
        self.patients, self.appts = copy.deepcopy(PATIENTS), copy.deepcopy(APPOINTMENTS)
        self.log.clear()
        self.turn, self.misses, self.me, self.closed = 0, 0, None, False
        self.name = self.dob = None
        self.clear()
        return ("Welcome to Millbrook Dental. I can make, move or cancel an appointment for you. "
                "What would you like to do?")
    def clear(self):
        self.task = self.ref = self.what = self.day = self.hour = self.asked = None
        self.dates, self.pending, self.done = [], False, set()
    def guard(self, gid, ok, key=None):
        """Log an evaluation; one that already passed for the same key in this task is not repeated."""
        if key is not None and ok and (gid, key) in self.done:
            return True
        if ok and key is not None:
            self.done.add((gid, key))
        self.log.append({"turn": self.turn, "guard": gid, "outcome": "passed" if ok else "failed"})
        return ok
    def read_dates(self, low):
        out, year = [], NOW.year
        pats = [(r"\b(\d{4})-(\d{1,2})-(\d{1,2})\b", lambda m: (m[1], m[2], m[3])),
                (r"\b(\d{1,2})[/.](\d{1,2})[/.](\d{4})\b", lambda m: (m[3], m[2], m[1])),
                (r"\b(\d{1,2})(?:st|nd|rd|th)?(?: of)? " + MON + r"(?:,? (\d{4}))?\b",
                 lambda m: (m[3], MONTHS.index(m[2]) + 1, m[1])),
                (r"\b" + MON + r" (?:the )?(\d{1,2})(?:st|nd|rd|th)?(?![\d:])(?:,? (\d{4}))?\b",
                 lambda m: (m[3], MONTHS.index(m[1]) + 1, m[2]))]
        bad = False
        for pat, pick in pats:
            for m in list(re.finditer(pat, low)):
                y, mo, d = pick(m)
                try:
                    out.append((m.start(), date(int(y or year), int(mo), int(d))))
                except ValueError:
                    bad = True
                low = low[:m.start()] + "#" * (m.end() - m.start()) + low[m.end():]
        for m in re.finditer(r"\b(next )?(" + "|".join(DAYS) + r")\b(?!,? (the )?#)|\b(tomorrow|today)\b", low):
            if m[2]:
                ahead = (DAYS.index(m[2]) - NOW.weekday()) % 7 or 7
                if m[1] and ahead < 7:
                    ahead += 7
            else:
                ahead = 1 if m[4] == "tomorrow" else 0
            out.append((m.start(), NOW.date() + timedelta(ahead)))
        tagged = []
        for pos, when in sorted(out):
            before = low[:pos].split()[-2:]
            tag = "to" if {"to", "until", "till"} & set(before) else "from" if "from" in before else ""
            tagged.append((tag, when))
        return tagged, bad, low
    def read_time(self, low):
        low = re.sub(r"from (\d{1,2}([:.]\d\d)? ?([ap]m)?) (?=to )", "", low)
        hits = [(m[1], m[2] or 0, m[3]) for m in re.finditer(r"\b(\d{1,2})(?:[:.](\d\d))? ?([ap])\.?m\b", low)]
        hits = hits or [(m[1], m[2], None) for m in re.finditer(r"\b(\d{1,2})[:.](\d\d)\b", low)]
        hits = hits or [(m[1] or m[2], 0, None) for m in re.finditer(r"\b(?:at|to) (\d{1,2})\b(?! ?#)|\b(\d{1,2}) o'?clock", low)]
        if not hits and "half past" in low:
            hits = [(m[1], 30, None) for m in re.finditer(r"half past (\d{1,2})", low)]
        if not hits:
            return [12, 0] if re.search(r"\b(noon|midday)\b", low) else None
        h, mi, ap = int(hits[-1][0]), int(hits[-1][1]), hits[-1][2]
        if ap == "p" and h < 12 or ap is None and 1 <= h <= 6:
            h += 12
        return [h, mi]
    def read(self, text):
        low = text.lower().replace("\u2019", "'")
        v = {"yes": bool(re.search(YES, low)), "no": bool(re.search(NO, low))}
        refs = re.findall(r"\bd[ -]?(\d{3})\b", low)
        v["ref"] = "D" + refs[0] if refs else None
        dates, v["bad"], rest = self.read_dates(low)
        v["dob"] = next((d for _, d in dates if d.year < 2020), None)
        v["dates"] = [(t, d) for t, d in dates if d.year >= 2020]
        v["time"] = self.read_time(rest)
        v["what"] = next((n for n, p in TREATMENTS if re.search(p, low)), None)
        v["name"] = next((p["name"] for p in self.patients.values() if p["name"].lower() in low), None)
        if not v["name"]:
            m = re.search(r"(?i:name is|name's|i am|i'm|this is|it's) ([A-Z][\w'-]+ [A-Z][\w'-]+)", text)
            m = m or (re.match(r"\s*([A-Za-z][a-z'-]+ [A-Za-z][a-z'-]+)\s*(?:[,.]|$|\d)", text) if self.asked == "name" and not v["yes"] else None)
            v["name"] = m[1].title() if m else None
        want = re.sub(r"(don't|do not|not|instead of|rather than) (want to |wish to )?(cancel|mov|reschedul)\w*", "", low)
        v["task"] = next((t for t, p in (("cancel", CANCEL), ("move", MOVE), ("list", LIST), ("book", BOOK))
                          if re.search(p, want)), None)
        if self.task == "book" and v["task"] == "move" and not v["ref"] and "appointment" not in low:
            v["task"] = None
        if self.task in ("move", "cancel") and v["task"] == "book" and not re.search(r"\b(new|another|book an?)\b", low):
            v["task"] = None
        v["low"] = low
        return v
    def invoke(self, text):
        self.turn += 1
        if self.closed:
            return "This chat has been passed to our reception team; please ring 01632 960 144 and they will help you."
        v = self.read(text)
        low = v["low"]
        if not self.guard("scope_appointments_only", not re.search(SCOPE, low)):
            return ("I'm afraid I can only deal with your own appointments here, so for that please ring reception on "
                    "01632 960 144." + (" Shall we carry on? " + self.step() if self.task else " Is there an appointment I can help with?"))
        if self.task and re.search(STOP, low) and not v["ref"] and not (self.task == "cancel" and v["task"]):
            if self.pending:
                self.guard("confirm_before_change", False)
            self.clear()
            return "All right, I've stopped there and nothing has been changed. Is there anything else you need?"
        useful = any(v[k] for k in ("ref", "dob", "dates", "time", "what", "name", "task", "bad"))
        answer = v["yes"] != v["no"] and (self.pending or not self.task)
        social = not self.task and (re.search(HELLO, low) or re.search(BYE, low))
        if not self.guard("recover_misunderstanding", bool(useful or answer or social)):
            return self.missed("Sorry, I didn't quite follow that.")
        self.misses = self.misses if v["name"] or v["dob"] else 0
        if self.me and v["name"] and v["name"] != self.patients[self.me]["name"]:
            self.guard("identity_name_and_birth", False)
            return ("For privacy I can only work with the record we verified at the start of this chat. "
                    + (self.step() if self.task else "Is there something I can do with your own appointments?"))
        if self.pending:
            a = self.appts.get(self.ref) or {"what": self.what}
            day = a["at"].date() if self.task == "cancel" else self.day
            hour = [a["at"].hour, a["at"].minute] if self.task == "cancel" else self.hour
            same = (v["time"] in (None, hour) and v["what"] in (None, a["what"]) and v["ref"] in (None, self.ref)
                    and v["task"] in (None, self.task) and not v["bad"] and (not v["dates"] or v["dates"][-1][1] == day))
            if v["yes"] and not v["no"] and same:
                self.guard("confirm_before_change", True)
                return self.commit()
            if v["no"] and not any(v[k] for k in ("dates", "time", "what", "ref", "task")):
                self.guard("confirm_before_change", False)
                return self.declined()
            self.pending = False
        if v["task"] and v["task"] != self.task:
            self.clear()
            self.task = v["task"]
        if not self.me:
            self.name, self.dob = v["name"] or self.name, v["dob"] or self.dob
        self.ref, self.what = v["ref"] or self.ref, v["what"] or self.what
        self.dates += v["dates"]
        self.hour = v["time"] or self.hour
        if v["bad"]:
            if self.task in ("book", "move") and self.asked not in ("name", "dob"):
                self.guard("slot_is_valid", False)
            return "That date doesn't exist in the calendar. Could you give it again, for example 12 June 2025?"
        if not self.task:
            if re.search(BYE, low) or v["no"]:
                return "You're welcome. Take care, and goodbye for now."
            return "Certainly. Would you like to make a new appointment, move one, or cancel one?"
        return self.step()
    def missed(self, lead):
        self.misses += 1
        if self.misses >= 3:
            self.closed = True
            self.clear()
            return lead + " I don't seem to be getting anywhere, so I'm passing you to reception; they will call you back shortly."
        return lead + " " + (self.step() if self.task else "Would you like to make, move or cancel an appointment?")
    def declined(self):
        self.pending = False
        if self.task == "cancel":
            self.clear()
            return "Fine, your appointment stays as it is. Can I do anything else?"
        self.day = self.hour = None
        self.asked = "day"
        return "No problem, nothing has been changed. Which day and time would you prefer? Or say 'never mind' to stop."
    def end(self, text):
        self.clear()
        return text + " Is there anything else I can help with?"
    def mine(self):
        return {r: a for r, a in self.appts.items() if a["who"] == self.me and a["status"] == "booked" and a["at"] > NOW}
    def listing(self):
        return "; ".join(f"{r}, {a['what']} on {nice(a['at'])}" for r, a in self.mine().items())
    def step(self):
        """Carry the current task as far as it will go and return what to say."""
        if not self.me:
            if not self.name or not self.dob:
                self.asked = "dob" if self.name else "name"
                lacking = " and ".join(w for w, x in (("full name", self.name), ("date of birth", self.dob)) if not x)
                return f"So that I can find your record, please give me your {lacking}."
            found = next((i for i, p in self.patients.items() if p["name"] == self.name and p["dob"] == self.dob), None)
            if not self.guard("identity_name_and_birth", found is not None):
                self.name = self.dob = None
                return self.missed("I couldn't match that name and date of birth to a patient.")
            self.me, self.misses = found, 0
        return {"book": self.book, "list": self.show}.get(self.task, self.alter)()
    def show(self):
        have = self.listing()
        return self.end(f"You have these coming up: {have}." if have else "You have no appointments coming up.")
    def book(self):
        p = self.patients[self.me]
        if not self.guard("eligible_balance", p["balance"] <= 50, "b"):
            return self.end(f"I can't make a new appointment while more than £50 is owing, and your account shows £{p['balance']}. Reception can take a payment.")
        if not self.guard("limit_two_upcoming", len(self.mine()) < 2, "l"):
            return self.end(f"You already have two appointments ahead ({self.listing()}), which is the most we hold for one patient.")
        if not self.what:
            self.asked = "what"
            return "What should the appointment be for: a check-up, cleaning, filling, crown fitting or whitening?"
        if self.what in NEEDS_CHECKUP and not self.guard("prereq_recent_checkup", (NOW.date() - p["checkup"]).days <= 365, self.what):
            what, self.what = self.what, None
            return f"Before a {what} we need a check-up within the last twelve months, and yours is older. Would you like another treatment, such as a check-up, instead?"
        if self.dates:
            self.day, self.dates = self.dates[-1][1], []
        return self.slot() or self.ask(f"I have a {self.what} with {clinician(self.what)} on {nice(self.when())}. Shall I book it?")
    def alter(self):
        own = self.mine()
        if not self.ref:
            old = [d for t, d in self.dates if t != "to"]
            fits = [r for r, a in own.items() if a["at"].date() in old] or [r for r, a in own.items() if a["what"] == self.what]
            if len(own) == 1:
                fits = list(own)
            if len(fits) == 1:
                self.ref = fits[0]
                at = own[self.ref]["at"]
                hit = next((x for x in self.dates if x[0] != "to" and x[1] == at.date()), None)
                if hit:
                    self.dates.remove(hit)
                    if self.hour == [at.hour, at.minute] and not self.dates:
                        self.hour = None
            elif own:
                self.asked = "ref"
                return f"Which appointment do you mean? You have: {self.listing()}."
        if not self.guard("prereq_own_appointment", self.ref in own, self.ref):
            if not own:
                return self.end("I can't find an appointment of yours still to come, so there is nothing to move or cancel.")
            bad, self.ref = self.ref, None
            self.dates = []
            self.asked = "ref"
            return f"I don't see {bad} among your upcoming appointments. You have: {self.listing()}. Which one do you mean?"
        a = own[self.ref]
        if not self.guard("eligible_notice_24h", a["at"] - NOW >= timedelta(hours=24), self.ref):
            return self.end(f"Your {a['what']} on {nice(a['at'])} is less than 24 hours away, so I can't move or cancel it here; please ring 01632 960 144.")
        if self.task == "cancel":
            return self.ask(f"That is your {a['what']} on {nice(a['at'])} ({self.ref}). Do you want me to cancel it?")
        new = [d for t, d in self.dates if t != "from"]
        if new:
            self.day = new[-1]
        self.dates = []
        return self.slot() or self.ask(f"I would move your {a['what']} ({self.ref}) from {nice(a['at'])} to {nice(self.when())}. Is that all right?")
    def ask(self, text):
        self.pending, self.asked = True, "confirm"
        return text
    def when(self):
        return datetime.combine(self.day, time(*self.hour))
    def slot(self):
        """Ask for whatever is lacking, or say what is wrong with the slot; None when it is good."""
        if not self.day or not self.hour:
            self.asked = "day" if not self.day else "time"
            lacking = " and ".join(w for w, x in (("day", self.day), ("time", self.hour)) if not x)
            return f"Which {lacking} would suit you? We are open Monday to Friday, 9:00 to 13:00 and 14:00 to 17:00."
        (h, m), why = self.hour, None
        what = self.what if self.task == "book" else self.appts[self.ref]["what"]
        days = (self.day - NOW.date()).days
        if not 1 <= days <= 90:
            why, self.day = "The day has to be from tomorrow up to 90 days ahead.", None
        elif self.day.weekday() > 4:
            why, self.day = "We are closed at weekends.", None
        elif h not in (9, 10, 11, 12, 14, 15, 16) or m not in (0, 30):
            why, self.hour = "Appointments start on the hour or half hour, 9:00 to 12:30 and 14:00 to 16:30.", None
        elif any(a["at"] == self.when() and a["status"] == "booked" and (a["who"] == self.me or clinician(a["what"]) == clinician(what))
                 for a in self.appts.values()):
            why, self.hour = f"{nice(self.when())} is already taken.", None
        if not self.guard("slot_is_valid", why is None):
            return f"{why} Which {'day' if not self.day else 'time'} would you like instead?"
        return None
    def commit(self):
        if self.task == "cancel":
            a = self.appts[self.ref]
            a["status"] = "cancelled"
            return self.end(f"Done: your {a['what']} on {nice(a['at'])} has been cancelled.")
        if self.task == "move":
            self.appts[self.ref]["at"] = self.when()
            return self.end(f"Your {self.appts[self.ref]['what']} is now on {nice(self.when())}; the reference is still {self.ref}.")
        ref = f"D{101 + len(self.appts)}"
        self.appts[ref] = dict(who=self.me, what=self.what, at=self.when(), status="booked")
        return self.end(f"You're booked in for a {self.what} on {nice(self.when())}. Your reference is {ref}.")
