"""Maple Hollow: rule-based chat agent of a boarding kennel for dogs and cats."""
import copy
import difflib
import re
import zlib
from datetime import date, timedelta

import data
from data import TODAY, EXTRAS, SAY, SCOPE, TITLES

NUM = {w: i for i, w in enumerate("zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen".split())}
NUM.update({"a": 1, "an": 1, "couple of": 2, "a couple of": 2, "first": 1, "second": 2, "third": 3, "fourth": 4, "twenty": 20, "thirty": 30})
N = r"(\d{1,3}|a couple of|couple of|" + "|".join(sorted((w for w in NUM if " " not in w), key=len, reverse=True)) + r")"
MONTHS = "jan feb mar apr may jun jul aug sep oct nov dec".split()
MON = r"(jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sep(?:t(?:ember)?)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)\b\.?"
DAY = r"\b(\d{1,2})(?:st|nd|rd|th)?"
SEP = r"\s*(?:-|to|until|till|til|through|thru|and)\s*(?:the\s+)?"
YR = r"(?:,?\s+(20\d\d))?"
WDS = "mon tue wed thu fri sat sun".split()
WD = r"\b(mon|tue|tues|wed|wednes|thu|thur|thurs|fri|sat|satur|sun)(?:day)?\b"
EXW = "|".join(x[3] for x in EXTRAS.values())
VOCAB = ("january february august september october november december monday tuesday wednesday thursday friday saturday "
         "sunday tomorrow cancel reserve booking change vaccination vaccinations extra grooming nights extend reschedule medication "
         "until record").split()
MOVE = r"\b(?:move|chang\w*|shift|reschedul\w*|push|postpone)\b.*\bto\b"
FILLER = r"^(?:(?:um+|uh+|er+|well|oh|hmm+|hi|hello|hey|so|ah|okay so|sorry|please)[,.! ]+)+"
YES = (r"^(?:yes|yep|yeah|yup|yea|ya|y|sure|ok|okay|of course|correct|right|exactly|that'?s (?:right|correct|fine|it|good)|go (?:ahead|on|for it)|"
       r"please|do (?:it|that|so)|sounds|perfect|great|confirm\w*|absolutely|definitely|certainly|fine|lovely|aye|all (?:good|right)|alright|"
       r"looks (?:good|right|fine)|book it|add it|why not|by all means|i do|that works|works for me|go|indeed|no (?:problem|worries))\b|👍"
       r"|\b(?:yes|yep|yeah|go ahead|please do|i think so|i'?d like that|i confirm|that would be (?:great|good|lovely|fine))\b")
NO = (r"^(?:no|nope|nah|n|not|don'?t|do not|wrong|incorrect|negative|rather not|i'?d rather not|hold on|wait|keep it|stop)\b"
      r"|that'?s (?:not|wrong)|don'?t think so|i (?:don'?t|do not) want|changed my mind|(?:i'?m|that is|that'?s) (?:good|all|everything|done)\b")
DROP = r"never ?mind|forget (?:it|about it|that)|drop (?:it|that)\b|leave it|scrap (?:it|that)|don'?t bother|abandon|^(?:please )?(?:stop|quit|cancel)(?: (?:it|that|this))?(?: please)?$"
INFO = [("i_cancel", r"(?:fee|charge|policy|penalty|cost).*cancel|cancel\w*.*(?:fee|policy|penalty|cost)"),
        ("i_extras", r"(?:what|which) (?:kinds? of )?extras|extras (?:do|are)|list of extras"),
        ("i_vacc", r"(?:what|which) vaccin|vaccin\w*.*(?:need|requir|rule|must)|(?:need|requir|rule)\w*.*vaccin|what is a trial|trial visit\?"),
        ("i_price", r"how much|\bprices?\b|what.*\bcosts?\b|\brates?\b|do you charge"),
        ("i_hours", r"opening|\bhours\b|what time|when (?:are|do) you (?:open|close)|are you open"),
        ("i_bring", r"(?:should|do|can|must) i (?:bring|pack)"),
        ("i_where", r"where are you|your address|directions|located")]
INTENTS = [("cancel", r"\bcancel|call off|(?:don'?t|no longer) need (?:the|my|that) (?:stay|booking|reservation)"),
           ("lookup", r"look(?:ing)? ?up|^(?:my )?(?:stays|bookings)$|look (?:at|something)|\bcheck (?:on |up on )?(?:my|the|when|if|whether|\w+'s)|\bdetails\b|show me|\bsee my\b|(?:what|which) (?:stays|bookings)|my (?:bookings|stays|reservations)\b|"
                      r"\bstatus\b|do i have|when (?:is|does|are|do|did|am)|vaccin\w* (?:record|status|date)|up to date|\brecords?\b|(?:are|is|has|have) .*(?:vaccin|shots|trial)|when.*vaccin|view"),
           ("manage", r"change or cancel"),
           ("change", r"\b(?:change|changing|move|moving|shift|reschedul\w*|extend\w*|shorten\w*|postpone|push|amend|modify|alter|adjust|prolong|edit)\b|different dates|bring forward|\blonger\b|\bshorter\b|(?:more|extra|additional|another) (?:night|day)"),
           ("extra", r"\bextras?\b|\badd\b|\bbook (?:an? |some |in an? )?(?:" + EXW + r")\b"),
           ("book", r"\b(?:book|reserve|reserving|board|boarding)\b|(?:new|a|make a) (?:booking|reservation|stay)\b|need (?:a )?(?:place|room|spot|somewhere)|look after|going away|leave (?:him|her|them|my)|drop (?:him|her|them|my \w+) off"),
           ("extra", r"\b(?:want|like|need|get|have|give)\b.*\b(?:" + EXW + r")\b"),
           ("lookup", r"my (?:booking|stay|reservation)\b"), ("manage", r"\bmanage\b")]

def num(w):
    return int(w) if w.isdigit() else NUM[w]

def letters(s):
    return re.sub(r"[^a-z]", "", s.lower())

def show(d):
    return f"{d:%a} {d.day} {d:%B}" + ("" if d.year == TODAY.year else f" {d.year}")

def join(xs):
    xs = list(xs)
    return xs[0] if len(xs) == 1 else ", ".join(xs[:-1]) + " and " + xs[-1]

def nights(n):
    return "1 night" if n == 1 else f"{n} nights"

def norm(text):
    t = re.sub(r"\s+", " ", text.lower().replace("’", "'").replace("–", "-").replace("—", "-")).strip()
    fix = lambda m: (difflib.get_close_matches(m[0], VOCAB, 1, 0.87) or [m[0]])[0] if m[0] + "s" not in VOCAB else m[0]
    return re.sub(FILLER, "", re.sub(r"[a-z]{6,}", fix, t)).strip(" .!")

def yesno(t):
    if re.match(r"no[, ]+(?:problem|worries)", t): return "yes"
    y, n = re.search(YES, t), re.search(NO, t)
    if n and not (y and y.start() == 0): return "no"
    return "yes" if y and not n and not re.search(r"\b(?:but|wait|except|not|hold on|no|don'?t)\b", t) else None

def option(t, size):
    if re.search(r"\blast one\b|^(?:the )?last$", t): return size
    m = re.match(r"(?:i'?d like |i want |let'?s (?:do|go with) |give me )?(?:option |number |no\.? ?|#|the )*" + N + r"(?:st|nd|rd|th|\.|\))?(?: (?:one|option|stay|please|thanks))*$", t)
    return num(m[1]) if m and 1 <= num(m[1]) <= size and m[1] not in ("a", "an") else None

def find_dates(t, anchor=None):
    """-> ([(date or None if impossible, role)], text without the dates)"""
    found, buf = [], [t]

    def mk(d, m, y=None):
        m = MONTHS.index(m[:3]) + 1 if not str(m).isdigit() else int(m)
        try:
            if y: return date(int(y) + (2000 if int(y) < 100 else 0), m, int(d))
            r = date(TODAY.year, m, int(d))
            return r if r >= TODAY - timedelta(60) else date(TODAY.year + 1, m, int(d))
        except ValueError: return None

    def before(pos):
        ds = [d for p, d, _ in sorted(found, key=lambda f: f[0]) if p < pos and d]
        return ds[-1] if ds else None

    def role(pos):
        pre = t[max(0, pos - 28):pos]
        if re.search(r"(?:\bnot|instead of|rather than)(?: on| the| from)*\s*$", pre): return "not"
        if re.search(r"(?:until|till|til|\bto\b|through|thru|\bback|up|collect\w*|leav\w+|\bout|\bend\w*(?: date)?|-)(?: him| her| them| is| it| be| on| to| the| by| at)*\s*$", pre):
            return "end"
        return "start" if re.search(r"(?:from|start\w*(?: date)?|arriv\w*|\boff|check in|begin\w*)(?: him| her| them| is| it| be| on| to| the)*\s*$", pre) else ""

    def take(rx, fn):
        for m in list(re.finditer(rx, buf[0])):
            got = fn(m)
            if got is not None:
                found.extend((m.start() + i, d, r or role(m.start())) for i, (d, r) in enumerate(got))
                buf[0] = buf[0][:m.start()] + "\0" * (m.end() - m.start()) + buf[0][m.end():]

    def bare(m):
        day, base = int(m[1] or m[2]), before(m.start()) or anchor
        for k in range(13):
            y, mo = divmod((base or TODAY).year * 12 + (base or TODAY).month - 1 + k, 12)
            try: r = date(y, mo + 1, day)
            except ValueError: continue
            if r > (base or TODAY) or (anchor and base == anchor and k == 0): return [(r, "")]
        return [(None, "")]

    def weekday(m):
        i, base = WDS.index(m[2][:3]), before(m.start()) or (anchor if role(m.start()) == "end" else None)
        if base or not (m[1] or "").startswith("next"): return [((base or TODAY) + timedelta((i - (base or TODAY).weekday() - 1) % 7 + 1), "")]
        return [(TODAY + timedelta(7 - TODAY.weekday() + i), "")]

    pre = r"(?:" + WD.replace("(mon", "(?:mon") + r",? (?:the )?)?"
    take(r"\b(20\d\d)-(\d{1,2})-(\d{1,2})\b", lambda m: [(mk(m[3], m[2], m[1]), "")])
    take(DAY + SEP + DAY + r"\s*(?:of )?" + MON + YR, lambda m: [(mk(m[1], m[3], m[4]), "start"), (mk(m[2], m[3], m[4]), "end")])
    take(r"\b" + MON + r"\s*(?:the )?" + DAY + SEP + DAY + r"(?!\d|\s*(?:of )?" + MON + ")" + YR,
         lambda m: [(mk(m[2], m[1], m[5]), "start"), (mk(m[3], m[1], m[5]), "end")])
    take(pre + DAY + r"\s*(?:of )?" + MON + YR, lambda m: [(mk(m[1], m[2], m[3]), "")])
    take(pre + r"\b" + MON + r"\s*(?:the )?" + DAY + r"(?!\d)" + YR, lambda m: [(mk(m[2], m[1], m[3]), "")])
    take(r"\b(\d{1,2})[/.](\d{1,2})(?:[/.](\d{4}|\d\d))?\b",
         lambda m: [(mk(m[2], m[1], m[3]) if int(m[2]) > 12 else mk(m[1], m[2], m[3]), "")])
    take(r"\b(?:the )?day after tomorrow", lambda m: [(TODAY + timedelta(2), "")])
    take(r"\b(?:(today|tonight)|tomorrow|yesterday)\b", lambda m: [(TODAY + timedelta(0 if m[1] else 1 if m[0][0] == "t" else -1), "")])
    take(r"\bin " + N + r" (day|week)s?\b(?! later| earlier)", lambda m: [(TODAY + timedelta(num(m[1]) * (7 if m[2] == "week" else 1)), "")])
    take(r"\b(?:(next)|this|the)? ?weekend\b", lambda m: [(TODAY + timedelta(4 - TODAY.weekday() + (7 if m[1] else 0)), "start"),
                                                      (TODAY + timedelta(6 - TODAY.weekday() + (7 if m[1] else 0)), "end")])
    take(r"(next (?:week )?|this |on |coming )?" + WD, weekday)
    take(r"\b(?:the )?(\d{1,2})(?:st|nd|rd|th)\b(?! (?:one|stay|option))|\bthe (\d{1,2})\b(?! ?(?:night|day|week|dog|cat|one|\d))", bare)
    found.sort(key=lambda f: f[0])
    return [(d, r) for _, d, r in found if r != "not"], buf[0].replace("\0", " ")

class Agent:
    def __init__(self):
        self.log = []
        self.reset()

    def reset(self):
        self.customers, self.pets, self.stays = map(copy.deepcopy, (data.CUSTOMERS, data.PETS, data.STAYS))
        self.log.clear()
        self.turn, self.user, self.ident, self.id_miss, self.misses = 0, None, {}, 0, 0
        self.task = self.parked = self.wait = None
        self.last, self.out, self.text, self.unclear, self.named = {}, [], "", False, False
        self.say("hello")
        return self.out[0]

    def invoke(self, text):
        self.turn += 1
        self.out, self.text, self.unclear = [], text, False
        self.handle(norm(text))
        self.guard("answer_understood", not self.unclear)
        if not self.unclear: self.misses = 0
        return "\n".join(self.out)

    def guard(self, gid, ok):
        self.log.append({"turn": self.turn, "guard": gid, "outcome": "passed" if ok else "failed"})
        return ok

    def say(self, key, **kw):
        v = SAY[key]
        i = zlib.crc32((key + self.text).encode()) % len(v)
        if self.last.get(key) == i: i = (i + 1) % len(v)
        self.last[key] = i
        self.out.append(v[i].format(**kw))

    def miss(self, said=False):
        self.unclear = True
        self.misses += 1
        if not said: self.say(("again", "again2", "stuck")[min(self.misses, 3) - 1])
        self.misses %= 3
        self.ask(self.wait)

    def own(self):
        return {n: p for n, p in self.pets.items() if p["owner"] == self.user}

    def mine(self, live=True):
        return {r: s for r, s in self.stays.items() if s["owner"] == self.user and (not live or s["status"] in ("booked", "in house"))}

    def price(self, pets, start, end, extras):
        n = (end - start).days
        return sum(n * data.RATES[self.pets[p]["species"]] + sum(EXTRAS[x][1] * (n if EXTRAS[x][2] else 1) for x in extras) for p in pets)

    def line(self, r):
        s = self.stays[r]
        ex = ", with " + join(EXTRAS[x][0] for x in s["extras"]) if s["extras"] else ""
        return f"{r}: {join(s['pets'])}, {show(s['start'])} to {show(s['end'])}, {s['status']}{ex}"

    def ask(self, slot):
        """put (or repeat) the question for a slot"""
        self.wait, k, kw, key = slot, self.task, {}, f"ask_{slot}"
        if slot is None: return self.say("menu")
        if slot == "ident": key = "ask_both" if not self.ident else "ask_name" if "ref" in self.ident else "ask_ref"
        elif slot == "pets":
            self.options = list(self.own())
            kw["list"] = "\n".join(f"{i}. {n} ({self.pets[n]['species']})" for i, n in enumerate(self.options, 1))
        elif slot == "stay":
            self.options = k.get("among") or list(self.mine())
            kw["list"] = "\n".join(f"{i}. {self.line(r)}" for i, r in enumerate(self.options, 1))
        elif slot == "extra":
            self.options = list(EXTRAS)
            kw["list"] = "\n".join(f"{i}. {EXTRAS[x][0].capitalize()}, £{EXTRAS[x][1]}{' a night' if EXTRAS[x][2] else ''}" for i, x in enumerate(EXTRAS, 1))
        elif slot == "resume": kw["what"] = TITLES[self.parked["kind"]]
        elif slot in ("end", "new", "confirm"): key, kw = (f"sum_{k['kind']}" if slot == "confirm" else key), self.facts()
        self.say(key, **kw)

    def facts(self):
        k = self.task
        s = self.stays.get(k.get("stay")) or {}
        pets, start, end = k.get("pets") or s.get("pets"), k.get("start") or s.get("start"), k.get("end") or s.get("end")
        f = dict(ref=k.get("stay"), pets=join(pets), start=show(start), end=end and show(end))
        if end and end > start:
            ex = s.get("extras", []) + k.get("extras", [])
            new = join(EXTRAS[x][0] for x in k["extras"]) if k.get("extras") else ""
            f.update(n=nights((end - start).days), new=new, extras=f" with {new}" if new else "", price=self.price(pets, start, end, ex))
        return f

    def handle(self, t):
        k = self.task
        why = next((w for rx, w in SCOPE if re.search(rx, t)), None)
        if why:
            self.guard("kennel_scope", False)
            self.say("out", why=why)
            return self.ask(self.wait or "more")
        if re.search(r"\bhuman\b|real person|representative|operator|receptionist|front desk|(?:speak|talk) (?:to|with) (?:a |an |some|the )", t):
            self.say("human")
            return self.ask(self.wait or "more")
        if re.search(r"\bmenu\b|start (?:over|again|afresh)|main options|^help$|what can you do", t):
            self.task = self.parked = None
            return self.ask(None)
        if re.search(r"sign (?:me )?out|log (?:me )?(?:out|off)|(?:different|another|switch|wrong) account", t):
            self.user, self.task, self.parked, self.ident = None, None, None, {}
            self.say("signout")
            return self.ask("more")
        if not k and re.search(r"^(?:no,? )?(?:thanks,? |thank you,? )?(?:(?:good)?bye|see you|cheers,? bye|that'?s (?:all|it|everything))\b", t):
            self.wait = self.parked = None
            return self.say("bye")
        keepyes = k and k["kind"] == "cancel" and self.wait == "confirm" and re.match(r"(?:please )?cancel", t)
        if k and not keepyes and re.search(DROP, t):
            if self.wait == "confirm": self.guard("explicit_yes", False)
            self.say("left")
            return self.finish()
        key = next((i for i, rx in INFO if re.search(rx, t)), None)
        if key:
            self.guard("kennel_scope", True)
            self.say(key, list=", ".join(f"{x[0]} (£{x[1]}{' a night' if x[2] else ''})" for x in EXTRAS.values()))
            return self.ask(self.wait or "more")
        intent = next((i for i, rx in INTENTS if re.search(rx, t)), None)
        if k and intent and not self.stays_put(k, intent, t):
            if k["kind"] != "manage":
                self.say("parked", what=TITLES[k["kind"]])
                self.parked = k
            self.task = k = None
        if not k and intent: return self.begin(intent, t)
        if re.match(r"(?:many )?(?:thanks|thank you|thx|cheers|ta)\b", t) and len(t) < 30:
            self.say("thanks")
            return self.ask(self.wait or "more")
        if not k and self.wait in (None, "more"):
            n = option(t, 4)
            if n: return self.begin(("book", "manage", "extra", "lookup")[n - 1], "")
            got = None if self.user else self.identify(t)
            if got == "ok": return self.ask("more")
            if got: return got == "closed" or self.ask("ident")
            if re.match(r"(?:hi|hello|hey|good (?:morning|afternoon|evening))\b", t) or t == "" and self.text.strip(): return self.ask(None)
            if yesno(t) == "no":
                self.wait = None
                return self.say("bye")
            if self.wait == "more" and yesno(t): return self.ask(None)
            return self.miss()
        self.answer(t)

    def stays_put(self, k, intent, t):
        """is this still about the task in hand?"""
        kind, ref = k["kind"], re.search(r"\bs[- ]?\d{3}\b|existing|another stay|other (?:stay|booking)", t)
        if kind == "manage" and intent in ("change", "cancel"):
            k["kind"] = intent
            self.wait = None
            return True
        if intent == kind or (self.wait == "stay" and intent == "lookup" and re.match(r"my (?:stay|booking)", t)):
            return not (kind == "book" and self.wait != "confirm" and ref)
        if self.wait == "what" or (self.wait == "confirm" and intent == "book" and re.match("book (?:it|that)", t)):
            return self.wait == "confirm" or re.search(r"record|vaccin|stay", t)
        if kind == "book": return not ref and (intent == "extra" or (intent == "change" and not re.search(r"\bmy (?:stay|booking)", t)))
        if kind == "extra": return not ref and intent == "book" and re.search(EXW, t) is not None
        return kind == "change" and bool(find_dates(t)[0]) and (intent == "extra" or re.match("book (?:it|that|them)", t))

    def begin(self, kind, t):
        self.guard("kennel_scope", True)
        self.task, self.wait = dict(kind=kind, texts=[t]), None
        got = None
        if not self.user:
            got = self.identify(t)
            if got == "closed": return
        if not self.guard("signed_in_first", self.user):
            if self.id_miss >= 3:
                self.say("id_closed")
                self.task = self.parked = None
                return self.ask("more")
            return self.ask("ident")
        if got != "ok": self.fill(t)
        self.advance()

    def identify(self, t):
        asked, rest = self.wait == "ident", t
        m = re.search(r"\bk[\s-]*(\d{4})\b", t) or (asked and re.search(r"\b(\d{4})\b", t))
        p = re.search(r"\+?\d[\d\s()-]{8,}\d", t)
        ref = p and re.sub(r"^44", "0", re.sub(r"\D", "", p[0])) or (m and "K-" + m[1])
        for x in (p, m): rest = rest.replace(x[0], " ") if x else rest
        words = re.findall(r"[a-z][a-z'-]*", rest)
        known = {letters(c["last"]) for c in self.customers.values()}
        n = re.search(r"(?:(?:sur|last ?)?name(?:'s| is|:)?|under) +(?:is )?([a-z'-]+(?: [a-z'-]+)?)", rest)
        name = next((w for w in words if letters(w) in known or letters(re.sub(r"'s$", "", w)) in known), None) or (n and n[1])
        if not name and asked and not yesno(t):
            left = [w for w in words if w not in "my number phone customer is it it's its and i'm i am this the here's mr mrs ms name last surname sorry actually".split()]
            if 1 <= len(left) <= 3 and not set(left) & set("what why how who when help you want have don't know can stay dog cat first second third last one book change cancel please".split()) and "?" not in t:
                name = left[-1]
        if ref: self.ident["ref"] = ref
        if name: self.ident["name"] = name
        if not (ref or name): return None
        if self.id_miss >= 3:
            self.say("id_closed")
            self.task = self.parked = None
            self.ask("more")
            return "closed"
        if len(self.ident) < 2: return "part"
        ref, name, self.ident = self.ident["ref"], self.ident["name"], {}
        who = next((i for i, c in self.customers.items() if ref in (i, c["phone"]) and letters(c["last"]) in
                    (letters(name), letters(name.split()[-1]), letters(re.sub(r"'s$", "", name)))), None)
        if self.guard("caller_verified", who):
            self.user, self.id_miss = who, 0
            self.say("id_ok", first=self.customers[who]["first"])
            for old in (self.task or {}).get("texts", []): self.fill(old)
            return "ok"
        self.id_miss += 1
        self.say("id_bad")
        if self.id_miss < 3: return "bad"
        self.say("id_closed")
        self.task = self.parked = None
        self.ask("more")
        return "closed"

    def find_pets(self, t):
        k, own = self.task, self.own()
        words = [re.sub(r"'s?$", "", w) for w in re.findall(r"[a-z']+", t)]
        names = {n.lower(): n for n in own}
        got = [names[m[0]] for w in words for m in [difflib.get_close_matches(w, names, 1, 0.78 if len(w) > 3 else 0.95)] if m]
        stranger = re.search(r"\b(?:called|named) ([a-z]+)", t)
        if stranger and not got:
            k["stranger"] = stranger[1].capitalize()
            return []
        if not got and len(own) > 1 and re.search(r"\bboth\b|\ball (?:of them|my|the|three)|everyone|\bthey\b.*\btogether|^all$|(?:dogs|cats|pets|animals)\b", t):
            sp = re.search(r"\b(dog|cat)s\b", t)
            got = [n for n in own if not sp or own[n]["species"] == sp[1]]
        if not got:
            sp = re.search(r"\b(dog|cat|puppy|pup|kitten|kitty)\b", t)
            kind = sp and ("dog" if sp[1][0] in "dp" else "cat")
            fit = [n for n in own if own[n]["species"] == kind]
            got = fit if len(fit) == 1 else []
            if kind and not fit and k["kind"] == "book": k["stranger"] = f"a {kind}"
        return list(dict.fromkeys(got))

    def find_stay(self, t, dates):
        """-> True if a stay (or a shorter list) came out of the text; dates used for it are removed"""
        k, all_, live = self.task, self.mine(False), self.mine()
        m = re.search(r"\bs[- ]*(\d{3})\b|(?<!£)\b(3\d\d)\b", t)
        if m:
            ref = "S-" + (m[1] or m[2])
            if ref in all_: return self.put("stay", ref)
            k["stranger_ref"] = ref
            return False
        if self.wait == "stay" and len(self.options) == 1 and yesno(t) == "yes": return self.put("stay", self.options[0])
        if self.wait == "stay" and option(t, len(self.options)): return self.put("stay", self.options[option(t, len(self.options)) - 1])
        pool, used, pets = live, False, self.find_pets(t)
        if pets:
            used, pool = True, {r: s for r, s in all_.items() if set(pets) <= set(s["pets"])}
            pool = {r: s for r, s in pool.items() if r in live} or pool
        if dates and (k["kind"] != "change" or len(dates) > 1 or self.wait == "stay"):
            hit = {r: s for r, s in pool.items() if dates[0][0] == s["start"]}
            if hit:
                used, pool = True, hit
                if k["kind"] == "change": del dates[:1]
        mon = not dates and re.search(r"\b(?!may)" + MON, t)
        if mon: used, pool = True, {r: s for r, s in pool.items() if f"{s['start']:%b}".lower() == mon[1][:3]}
        if used and len(pool) == 1: return self.put("stay", next(iter(pool)))
        if used and pool and not k.get("stay"):
            k["among"] = list(pool)
            return True
        return False

    def put(self, slot, value):
        self.named = True                 # mentioned, though perhaps not new
        if self.task.get(slot) == value: return False
        self.task[slot] = value
        return True

    def fill(self, t):
        """take every value the message holds; True if something changed"""
        k, got, self.named = self.task, False, False
        kind = k["kind"]
        anchor = k.get("start") or (self.stays[k["stay"]]["start"] if k.get("stay") else None)
        dates, rest = find_dates(t, anchor)
        choice = kind != "book" and self.wait == "stay" and option(t, 9)
        if choice or kind == "lookup": dates = dates if not choice else []
        if kind == "book":
            opt = self.wait == "pets" and option(t, len(self.options))
            pets, old = ([self.options[opt - 1]] if opt else self.find_pets(rest)), k.get("pets") or []
            if pets and re.search(r"\b(?:without|not|minus|except|leave out|remove|take|drop)\b", t) and old:
                got |= self.put("pets", [p for p in old if p not in pets])
            elif pets:
                add = old and re.search(r"\b(?:also|too|as well|plus|add|with)\b", t)
                got |= self.put("pets", old + [p for p in pets if p not in old] if add else pets)
            elif not old and len(self.own()) == 1 and "stranger" not in k: k["pets"] = list(self.own())
            if pets and k.get("lost") and not dates: k["start"], k["end"] = k.pop("lost")
        elif not k.get("stay") or re.search(r"\bs[- ]?\d{3}\b", t): got |= self.find_stay(t, dates)
        if kind in ("book", "extra"):
            old = k.get("extras", [])
            opt = self.wait == "extra" and option(t, len(EXTRAS))
            hits = [self.options[opt - 1]] if opt else [x for x in EXTRAS if re.search(rf"\b(?:{EXTRAS[x][3]})\b", rest)]
            off = [x for x in hits if re.search(rf"\b(?:no|not|without|remove|skip|instead of)(?: the| a)? (?:{EXTRAS[x][3]})\b", rest)]
            hits = [x for x in hits if x not in off]
            more = kind == "book" or re.search(r"\b(?:also|too|as well|plus|and)\b", t)
            new = [x for x in (old + [h for h in hits if h not in old] if more or not hits else hits) if x not in off]
            got |= bool(hits or off) and self.put("extras", new)
        if kind in ("book", "change"): got |= self.fill_dates(t, dates, rest)
        if kind == "lookup":
            k["who"] = self.find_pets(t) or k.get("who")
            w = "pets" if re.search(r"vaccin|shots|trial|record|up to date", t) or (self.wait == "what" and option(t, 2) == 2) else \
                "stays" if re.search(r"stay|booking|reserv|when|check|status", t) or (self.wait == "what" and option(t, 2) == 1) else None
            got |= bool(w) and self.put("what", w)
        return got

    def fill_dates(self, t, dates, rest):
        k = self.task
        s = self.stays[k["stay"]] if k["kind"] == "change" and k.get("stay") else {}
        start, end = k.get("start") or s.get("start"), k.get("end") or s.get("end")
        was, span = (start, end), (end - start) if start and end else None
        if any(d is None for d, _ in dates):
            k["bad"] = True
            return True
        if k["kind"] == "change" and not s:         # stay not known yet: read this again afterwards
            if dates or re.search(r"\b(?:night|day|week|fortnight)s?\b", rest): k["later"] = t
            return "later" in k and k["later"] == t
        ds = dates[:2] if len(dates) < 3 else dates[-2:]
        if len(ds) == 2 and k["kind"] == "change" and s and ds[0][0] == s["start"] and not k.get("start") and re.search(MOVE, t):
            start, end = ds[1][0], ds[1][0] + span
        elif len(ds) == 2: start, end = (ds[1][0], ds[0][0]) if (ds[0][1], ds[1][1]) == ("end", "start") else (ds[0][0], ds[1][0])
        elif ds:
            d, role = ds[0]
            if k["kind"] == "change" and role == "end" and re.search(MOVE, t) and not re.search(r"until|\bend|\bpick\b", t): role = ""
            if (role == "end" and start) or (not role and start and not end) or (role == "end" and self.wait == "end"): end = d
            elif role == "end": k["end"] = d
            else: start, end = d, (end if end and end > d and role == "start" or not span and end else d + span if span else None)
        shift = re.search(N + r" (night|day|week)s? (later|earlier|sooner|forward|back)", rest)
        grow = re.search(r"(?:(?:extend|prolong|longer)\w*.*?\b|^)by " + N + r" (night|day|week)|\b" + N + r" (?:more|extra|additional|further) (night|day|week)|\b" + N + r" (night|day|week)s? longer|\b(?:one )?(?:more|extra|additional|another) (night|day|week)", rest)
        cut = re.search(r"shorten\w*.*?\bby " + N + r" (night|day|week)|\b" + N + r" (night|day|week)s? (?:shorter|less|fewer)|\b" + N + r" (?:fewer|less) (night|day|week)", rest)
        plain = re.search(r"\b" + N + r" (night|day|week|fortnight)s?\b", rest)
        size = {"night": 1, "day": 1, "week": 7, "fortnight": 14}
        amount = lambda m: next((num(g) for g in m.groups() if g and g not in size), 1) * size[next(g for g in m.groups() if g in size)]
        if shift and start and end:
            n = num(shift[1]) * size[shift[2]] * (-1 if shift[3] in ("earlier", "sooner", "forward") else 1)
            start, end = start + timedelta(n), end + timedelta(n)
        elif (grow or cut) and end: end += timedelta(amount(grow) if grow else -amount(cut))
        elif plain or (self.wait == "end" and option(t, 99)):
            k["n"] = amount(plain) if plain else option(t, 99)
            if start: end = start + timedelta(k.pop("n"))
        if start and not end and "n" in k: end = start + timedelta(k.pop("n"))
        if (start, end) == was:
            self.named |= bool(dates or plain)
            return "n" in k
        k["start"], k["end"] = start, end
        return True

    def answer(self, t):
        """a reply to the question that is open"""
        w, k, yn = self.wait, self.task, yesno(t)
        if w == "resume":
            if not yn: return self.miss()
            self.task, self.parked = (self.parked if yn == "yes" else None), None
            (self.task or {}).pop("open", None)       # things may have changed meanwhile
            return self.advance() if yn == "yes" else self.ask("more")
        if w == "ident":
            if re.search(r"(?:don'?t|do not|can'?t) (?:know|have|remember|find)|forgot|lost", t):
                self.say("noref")
                return self.ask("ident")
            got = self.identify(t)
            if not got: return self.miss()
            if got == "ok":
                if not k: return self.ask("more")
                self.guard("signed_in_first", True)
                return self.advance()
            return got == "closed" or self.ask("ident")
        if k["kind"] == "manage":
            n = option(t, 2)
            if n:
                k["kind"] = ("change", "cancel")[n - 1]
                self.wait = None
                return self.advance()
            return self.miss()
        before = self.wait
        got = self.fill(t) or (before is None)
        if before == "confirm":
            if not got and (yn == "yes" or (k["kind"] == "cancel" and re.match(r"(?:please )?cancel", t))):
                self.guard("explicit_yes", True)
                return self.commit()
            self.guard("explicit_yes", False)
            if got or (self.named and not yn): return self.advance()
            if yn == "no":
                if k["kind"] in ("book", "change"): return self.ask("fix")
                self.say("left")
                return self.finish()
            return self.miss()
        if got or self.named: return self.advance()
        if before in ("fix", "dates", "new", "stay", "pets", "extra") and yn == "no":
            self.say("left")
            return self.finish()
        if before == "fix" and yn == "yes": return self.ask("dates")
        self.miss(self.strangers())

    def strangers(self):
        n = len(self.out)
        for key, tag in (("stranger", "no_pet"), ("stranger_ref", "no_ref")):
            if key in self.task: self.say(tag, name=self.task.pop(key))
        return len(self.out) > n

    def advance(self):
        """run the checks that are due, then ask for the next missing thing"""
        k = self.task
        if self.strangers(): self.unclear = True
        if k["kind"] == "manage": return self.ask("manage")
        if k["kind"] == "lookup": return self.lookup()
        if k["kind"] == "book":
            if not k.get("pets"): return self.ask("pets")
            if k.get("trial") != k["pets"]:
                k["trial"] = k["pets"]
                lack = [p for p in k["pets"] if not self.pets[p]["trial"]]
                if not self.guard("trial_visit_done", not lack):
                    self.say("trial", pets=join(lack), desk=data.DESK)
                    k["pets"] = None
                    return self.ask("pets") if len(self.own()) > 1 else self.finish()
        else:
            if not k.get("stay"):
                live = list(self.mine())
                if not live:
                    self.say("no_stays")
                    return self.finish()
                if len(live) > 1 or k.get("among") and live != k["among"]: return self.ask("stay")
                k["stay"] = live[0]
            if k.get("open") != k["stay"]:
                k["open"] = k["stay"]
                s = self.stays[k["stay"]]
                why = {"finished": "it's over already", "cancelled": "it was cancelled before", "in house": "it is under way right now"}.get(s["status"])
                if not why and s["start"] < TODAY + timedelta(2):
                    why = f"it starts on {show(s['start'])} and we need two full days' notice (the front desk may help, {data.DESK})"
                if not self.guard("stay_still_open", not why):
                    self.say("shut", ref=k["stay"], why=why)
                    gone = k.pop("stay")
                    k.pop("open"), k.pop("among", None)
                    k["among"] = [r for r in self.mine() if r != gone and self.mine()[r]["status"] == "booked"]
                    return self.ask("stay") if k["among"] else self.finish()
        if k["kind"] == "change" and k.get("later"):
            dates, rest = find_dates(k["later"], self.stays[k["stay"]]["start"])
            self.fill_dates(k.pop("later"), dates, rest)
        if k["kind"] in ("book", "change"):
            if (k.get("start") or k.get("bad") or k.get("end")) and not self.dates_ok():
                for x in ("start", "end", "bad", "n"): k.pop(x, None)
                return self.ask("dates" if k["kind"] == "book" else "new")
            if not k.get("start"): return self.ask("dates" if k["kind"] == "book" else "new")
            if not k.get("end"): return self.ask("end")
        if k["kind"] == "extra" and not k.get("extras"): return self.ask("extra")
        self.ask("confirm")

    def dates_ok(self):
        k = self.task
        a, b = k.get("start"), k.get("end")
        pets = k.get("pets") or self.stays[k["stay"]]["pets"]
        wrong, kw = None, {}
        if k.get("bad"): wrong = "d_bad"
        elif a and a <= TODAY or b and b <= TODAY: wrong = "d_past"
        elif a and b and b <= a: wrong = "d_order"
        elif a and a > TODAY + timedelta(365): wrong = "d_far"
        elif a and b:
            clash = next((r for r, s in self.mine().items() if r != k.get("stay") and set(pets) & set(s["pets"]) and a < s["end"] and s["start"] < b), None)
            if clash: wrong, kw = "d_clash", dict(ref=clash, pets=join([p for p in pets if p in self.stays[clash]["pets"]]))
        if not wrong and not (a and b): return True               # judged once both ends are known
        if not self.guard("dates_sensible", not wrong):
            self.say(wrong, **kw)
            return False
        if not self.guard("stay_length_cap", (b - a).days <= 21):
            self.say("long", n=nights((b - a).days))
            return False
        short = next((p for p in pets if self.pets[p]["vaccines"] < b), None)
        if not self.guard("vaccines_cover_stay", not short):
            k["lost"] = (a, b)
            self.say("vacc", pets=short, until=show(self.pets[short]["vaccines"]), end=show(b))
            return False
        return True

    def lookup(self):
        k = self.task
        pets, stays = k.get("who"), self.mine(False)
        if k.get("stay") and k.get("what") != "pets":
            s = self.stays[k["stay"]]
            self.out.append(self.line(k["stay"]) + f". Total £{self.price(s['pets'], s['start'], s['end'], s['extras'])}.")
        elif not k.get("what") and not pets: return self.ask("what")
        elif k.get("what") == "pets":
            for n in pets or self.own():
                p = self.pets[n]
                self.out.append(f"{n} ({p['species']}): vaccinated until {show(p['vaccines'])} {p['vaccines'].year}, ".replace("2026 2026", "2026")
                                + ("trial visit done." if p["trial"] else "no trial visit yet."))
        else:
            rows = [r for r in k.get("among") or stays if not pets or set(pets) & set(stays[r]["pets"])]
            self.out.extend(map(self.line, rows)) if rows else self.say("no_stays")
        self.finish()

    def commit(self):
        k = self.task
        if k["kind"] == "book":
            k["stay"] = f"S-{max(int(r[2:]) for r in self.stays) + 1}"
            self.stays[k["stay"]] = dict(pets=k["pets"], start=k["start"], end=k["end"], status="booked", extras=k.pop("extras", []), owner=self.user)
        facts, s = self.facts(), self.stays[k["stay"]]
        if k["kind"] == "change": s["start"], s["end"] = k["start"], k["end"]
        elif k["kind"] == "cancel": s["status"] = "cancelled"
        elif k["kind"] == "extra": s["extras"] = s["extras"] + k["extras"]
        self.say("done_" + k["kind"], **facts)
        self.finish()

    def finish(self):
        self.task = None
        self.ask("resume" if self.parked else "more")

