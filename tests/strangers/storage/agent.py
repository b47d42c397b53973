"""Chat agent of Tidewell Storage, a company that rents out self-storage units (rule based, deterministic)."""
import copy
import difflib
import re
from datetime import date, timedelta

TODAY = date(2026, 3, 2)
PHONE = "01632 960 144"
MAX_UNITS, PAY_CAP = 3, 300
SITES = {"H": "Harbour Road", "M": "Mill Lane", "S": "Station Yard"}
PRICES = {25: 48, 50: 79, 100: 128, 150: 176}
SIZE_NAMES = {25: "small", 50: "medium", 100: "large", 150: "extra large"}

_CUSTOMERS = [("TW-4102", "Priya Raman", "BN3 7QT", "4471"), ("TW-4105", "Owen Baxter", "BN1 4LD", "9023"),
              ("TW-4111", "Marta Kowalska", "BN2 9HW", "1180"), ("TW-4118", "Desmond Achebe", "BN41 2PF", "6634"),
              ("TW-4123", "Lucy Hartnell", "BN3 1ZA", "7752"), ("TW-4130", "Tomas Novak", "BN43 5RE", "2096"),
              ("TW-4137", "Fatima Siddiqui", "BN1 8JG", "3318"), ("TW-4142", "Gareth Pugh", "BN2 3XN", "5547"),
              ("TW-4150", "Ingrid Solberg", "BN15 6MK", "8801")]
# unit: (size, tenant, due, overlocked, code)
_UNITS = {"H12": (50, "TW-4102", 0, False, "482915"), "M03": (25, "TW-4102", 48, False, "907316"),
          "H21": (100, "TW-4105", 256, True, "330872"), "S08": (50, "TW-4111", 0, False, "615094"),
          "S09": (25, "TW-4111", 0, False, "774120"), "M15": (150, "TW-4111", 0, False, "208643"),
          "M11": (100, "TW-4118", 128, False, "559017"), "H05": (25, "TW-4123", 0, False, "146802"),
          "S14": (150, "TW-4130", 528, True, "871935"), "H30": (50, "TW-4137", 79, False, "402768"),
          "M22": (100, "TW-4137", 0, False, "693051"), "S17": (25, "TW-4142", 96, True, "538206"),
          "H18": (50, None, 0, False, None), "H24": (25, None, 0, False, None), "H27": (100, None, 0, False, None),
          "M07": (50, None, 0, False, None), "M19": (150, None, 0, False, None), "S02": (25, None, 0, False, None),
          "S11": (100, None, 0, False, None)}
DATA = {"customers": {a: {"account": a, "name": n, "postcode": p, "card": c} for a, n, p, c in _CUSTOMERS},
        "units": {u: {"id": u, "site": SITES[u[0]], "size": s, "tenant": t, "due": d, "locked": l, "code": c, "ends": None}
                  for u, (s, t, d, l, c) in _UNITS.items()}}

TASKS = {"rent": "rent a unit", "notice": "give notice on a unit", "code": "change an access code",
         "pay": "pay what is due", "lookup": "look something up"}
SLOTS = {"rent": ["site", "size", "date"], "notice": ["unit", "date"], "code": ["unit", "code"],
         "pay": ["unit", "amount"], "lookup": ["topic"]}
MENU = "\n".join(f"{i}. {name[0].upper() + name[1:]}" for i, name in enumerate(TASKS.values(), 1))

W = {  # key: wordings, used in turn
    "greet": ["Hello, this is the Tidewell Storage chat desk. What can I do for you today?\n{menu}", "Welcome to Tidewell Storage. Pick one of these, or just tell me in your own words:\n{menu}"],
    "menu": ["Here is what I can do:\n{menu}", "These are the things I can help with - a number or a few words will do:\n{menu}"],
    "ask_both": ["To open your account I need your account number (or full name) and the postcode we have for you.", "First let me find you: your account number or full name, please, together with your postcode."],
    "ask_who": ["Thanks. And whose account is it - the number (TW- and four digits) or the full name?", "I have the postcode; now I still need the account number or the full name on the account."],
    "ask_pc": ["Thank you. Which postcode is on the account?", "And the postcode that goes with it, please?"],
    "id_ok": ["Thank you, {name}, I have your account open.", "Found you, {name}."],
    "id_bad": ["Those details do not go together in our records. Please check the number or name and the postcode and send what needs correcting.", "I'm afraid that does not match anything I have. Could you look at the account number or name and the postcode once more?"],
    "id_locked": ["I could not match your details after three attempts, so I can't open an account in this chat. Please ring the office on {phone}. Prices, free units and opening hours I can still tell you.", "Account matters are closed for this chat because the details did not match. The office on {phone} will sort it out; general questions are still welcome."],
    "what": ["What would you like to do?\n{menu}", "How can I help you with it?\n{menu}"],
    "ask_site": ["Which of our sites would suit you: Harbour Road, Mill Lane or Station Yard?", "Where would you like it - Harbour Road, Mill Lane or Station Yard?"],
    "ask_size": ["What size do you need? At {site} I have {sizes}.", "And how big should it be? Free at {site}: {sizes}."],
    "no_vacancy": ["There is no {size} sq ft unit free at {site} just now. {alt}", "{site} has nothing in {size} sq ft at the moment. {alt}"],
    "ask_date_rent": ["From which day would you like it? Any day from {lo} to {hi} is fine.", "When should it start? I can book between {lo} and {hi}."],
    "ask_date_notice": ["What would your last day in {unit} be? We need it between {lo} and {hi}.", "On which day will you be out of {unit}? It can be anything from {lo} to {hi}."],
    "bad_date": ["{given} won't work, I'm sorry: the day has to fall between {lo} and {hi}. Which day shall I put?", "I can't take {given}. Please choose a day from {lo} to {hi}."],
    "ask_unit": ["Which unit is it about: {units}?", "You have {units}. Which of them do you mean?"],
    "ask_unit_pay": ["Money is due on {units}. Which would you like to pay, or all of it?", "There is something open on {units}. Shall it be one of those, or everything?"],
    "not_yours": ["I don't see {unit} on your account. It would have to be one of these: {units}.", "{unit} is not among your units. I have {units} for you."],
    "not_free": ["{unit} isn't one of our free units.", "I'm afraid {unit} is not to be had."],
    "no_units": ["You have no units with us at the moment, so there is nothing to do there.", "There is no unit on your account just now, so I have nothing to change."],
    "ask_code": ["What should the new code for {unit} be? Six digits, please, nothing like 111111 or 123456.", "Please give me six digits for {unit} - not a simple run, and not all alike."],
    "bad_code": ["That code won't do: {why}. Please choose another.", "I can't set that one, because {why}. What else would you like?"],
    "ask_amount": ["{due} is due for {unit}. Shall I take all of it, or another amount?", "The open sum for {unit} is {due}. How much would you like to pay - the whole of it or a part?"],
    "bad_amount": ["That is not possible: a payment has to be above zero and no higher than {max} here. How much shall it be?", "I can take anything above zero up to {max} in this chat. What amount would you like?"],
    "cap_used": ["You have reached the {cap} that can be paid in one chat; the rest is best paid by phone on {phone}.", "That was the {cap} limit for one chat. For more, please ring {phone}."],
    "nothing_due": ["Good news: nothing is due there.", "All is paid up there, you owe nothing."],
    "owing": ["There is still {due} open on {unit}, and that has to be paid before I can take your notice. Would you like to pay now?", "Before a notice on {unit} can go in, its {due} must be settled. Shall we do that first?"],
    "overlocked": ["{unit} is locked because {due} is overdue, so its code cannot be changed for now. Would you like to pay now?", "I can't give {unit} a new code while it is locked for unpaid rent ({due}). Shall we settle that first?"],
    "limit": ["You already rent {n} units, and {n} is the most one account can hold, so I can't add another.", "An account can have at most {n} units and yours is full, so a further one is not possible."],
    "sum_rent": ["So that's unit {unit}, {size} sq ft at {site}, from {date} for {price} a month. Shall I book it?", "To sum up: {unit} at {site}, {size} sq ft, {price} a month, starting {date}. Is that right?"],
    "sum_notice": ["I would end your rental of {unit} on {date}. Is that what you want?", "So: notice on {unit}, with {date} as the last day. Shall I enter it?"],
    "sum_code": ["I would set the code of {unit} to {code}. All right?", "New code for {unit}: {code}. Shall I save it?"],
    "sum_pay": ["I would take {amount} for {unit} from your card ending {card}. May I go ahead?", "That is {amount} for {unit}, from the card ending {card}. Shall I take the payment?"],
    "done_rent": ["Booked: {unit} is yours from {date}. Bring some photo ID on the first day and the desk will give you the gate code.", "Done. {unit} is reserved for you from {date}; the site desk will hand you the gate code against photo ID."],
    "done_notice": ["Your notice is in: {unit} ends on {date}. Please leave it empty and swept.", "That's entered. {date} is your last day in {unit}."],
    "done_code": ["The new code works on {unit} from now on.", "Saved - {unit} opens with the new code straight away."],
    "done_pay": ["Thank you, {amount} has been paid for {unit}. {left}", "The payment of {amount} for {unit} went through. {left}"],
    "amend": ["All right, I have not done anything yet. What should be different - or shall we drop it?", "Fine, nothing has been changed. Tell me what to alter, or say 'drop it'."],
    "dropped": ["All right, I've left that as it was.", "No problem, we'll forget about that."],
    "resume": ["You also wanted to {task}. Shall we go on with that?", "Then there is still your wish to {task}. Carry on with it now?"],
    "more": ["Is there anything else?", "Can I help with something else?"],
    "next": ["What would it be?\n{menu}", "Gladly - what next?\n{menu}"],
    "bye": ["Thanks for getting in touch. Goodbye!", "You're welcome any time. Have a good day!"],
    "thanks": ["You're welcome.", "Glad to help."],
    "ask_topic": ["What would you like to know: your units, your balance, prices, free units, notice rules or opening hours?", "Gladly. Is it about your units, your balance, our prices, free units, notice rules or opening hours?"],
    "scope": ["I'm sorry, I can't help with {what} in this chat; the office on {phone} can.", "For {what} please ring the office on {phone} - it is outside what I do here."],
    "unclear": ["Sorry, I didn't follow that.", "I'm not sure I understood you.", "That one escaped me, I'm afraid."],
    "give_up": ["We don't seem to be getting any further with this, so I've put it aside. You can also ring {phone}. Otherwise:\n{menu}", "Let's start afresh - I have left everything as it was. The office is on {phone}, or choose here:\n{menu}"],
}

MONTHS = "january february march april may june july august september october november december".split()
DAYS = "monday tuesday wednesday thursday friday saturday sunday".split()
NUMBERS = dict(two=2, three=3, four=4, five=5, six=6, seven=7, eight=8, nine=9, ten=10, eleven=11, twelve=12, fourteen=14,
               fifteen=15, twenty=20, thirty=30, forty=40, fifty=50, sixty=60, seventy=70, eighty=80, ninety=90, hundred=100)
VOCAB = ("access address amount another balance change code confirm everything february harbour hours january large medium "
         "moving notice opening payment please postcode price prices rental renting reserve september small square station "
         "storage tomorrow unit units vacate wednesday account number thursday cancel available").split()
KEEP = {"noticed", "place", "count", "card", "charge", "chance", "charges", "addresses", "codes", "hour", "house", "larger", "smaller", "pleased"}

INTENTS = [  # (intent, topic, pattern), earlier ones win where two overlap
    ("lookup", "rules", r"notice period|how (much|long|many).{0,20} notice|notice rules?|rules"),
    ("lookup", "balance", r"\b(how much|what)\b.{0,25}\b(owe|owing|due|outstanding|have to pay|must pay|need to pay)\b|\bdo i owe\b|\bam i (paid up|behind)|\bmy (balance|debts?)\b|^(the |my )?balance$"),
    ("lookup", "hours", r"\b(opening|hours|when (are|do) you open|are you open|open (on|at|until)|what time)\b"),
    ("lookup", "prices", r"\b(prices?|price list|rates|costs?|how much (is|are|does|do|would|for))\b"),
    ("lookup", "vacant", r"\b(free units?|availab\w*|vacanc\w+|vacant|what('s| is) free|which sizes|what sizes)\b"),
    ("lookup", "units", r"\b(what|which|list|show|see|look up|check|details (of|on|for))( \w+){0,3} (units?|rentals)\b(?! (are|do you|is) (free|offer|have))|^(my )?units?$|do i (have|rent)\b"),
    ("notice", None, r"\b(end|cancel|stop|terminate|close|finish|quit)(ing)? (\w+ ){0,3}(rent\w*|contract|units?|lease|tenancy|storage|[hms]-?\d\d)\b|\bstop renting\b|\b(move|moving|moved|get|clear) out\b|\bvacat\w+|\bleav(e|ing) (my|the|unit|[hms]\d)|\b(give|giving) (up|back)\b|\b(don't|do not|no longer) need (my|the|unit|[hms]\d|it)|\bget rid of\b|\b((give|giving|hand in|put in) (my |the |in )?)?notice\b"),
    ("code", None, r"\b((change|reset|new|forgot|forgotten|set|update)\b[^.,;]{0,25})?(code|pin|keypad|key code|passcode)\b"),
    ("pay", None, r"\b(pay|paying|payment|settle|clear (my|the)|pay off)\b"),
    ("rent", None, r"(?<!my )(?<!the )(?<!'s )\b(rent|hire|book|reserve|lease|renting)\b(?! (is|was|due|bill))|\b(another|second|extra|additional|new|bigger|smaller|more) (storage )?(units?|space|storage|locker)\b|\b(need|want|like|get|take|after|looking for) (to have )?(a|some|an) (\S+ ){0,4}(unit|space|storage|locker)\b"),
    ("lookup", None, r"\b(look (something |it )?up|lookup|look something|info|information|i have a question|check something)\b"),
]
SCOPE = [("reading out an access code", r"\b(what('s| is| was)|tell me|remind me of|send me) (my|the) (current |access |gate |old )*(code|pin)\b"),
         ("opening an account for a new customer", r"\b(new customer|(open|create|set up) (an|a new) account|not a customer|sign up)\b"),
         ("changing your personal details", r"\b(change|update|new) (of )?(my |the )?(home |email |bank )*(address|phone|email|e-mail|name|card|postcode|bank)\b"),
         ("putting you through to a person", r"\b(human|real person|a person|(speak|talk) (to|with) (someone|somebody)|operator|representative|manager|call me)\b"),
         ("vans and removals", r"\b(van|vans|truck|lorry|removals?|movers)\b"),
         ("selling boxes and padlocks", r"\b(boxes|packing|padlocks?|bubble wrap|tape)\b"),
         ("insurance", r"\b(insur\w+|claim|damaged?|stolen|theft|broken into|burgl\w+)\b"),
         ("refunds and discounts", r"\b(refund|money back|discount|cheaper|deal|voucher|deposit back)\b"),
         ("a complaint", r"\b(complain\w*|complaint)\b"),
         ("that sort of question", r"\b(weather|joke|football|recipe|poem|jobs|politics|homework|pizza|hotel|flight)\b")]
YES = r"^(y|ja|aye|true|fine|perfect|great|good|right|correct|exactly|agreed)\b|\b(yes|yep|yeah|yup|yea|sure|ok|okay|okey|confirm|confirmed|go ahead|go on|go for it|please do|do it|do that|that's (right|correct|it|fine|good)|that is (right|correct|fine)|sounds (good|right|fine)|looks (good|right|fine)|absolutely|definitely|certainly|of course|by all means|all right|alright|why not|all good|carry on|let's|i do|book it|save it|set it|take it|that works|works for me)\b"
NO = r"^(n|never|negative|wait|hold on|hang on)\b|\b(no|nope|nah|not (now|yet|today|right|correct|really|quite|that|what i)|don't|do not|rather not|wrong|incorrect|i changed my mind|isn't right|can't|cannot|won't|hold on|nothing|that's all|that is all)\b"
HEDGE = r"\b(not sure|unsure|maybe|perhaps|don't know|dunno|no idea|depends|possibly|might)\b"
DROP = r"\b(never ?mind|forget (it|about it|that|this)|drop (it|that|this)|cancel( (it|that|this))?|stop( (it|that|this))?|leave it|leave that|abort|quit|scrap (it|that))$|^(cancel|stop|never ?mind|forget|drop)\b"


def money(x):
    return f"£{x:.2f}" if x % 1 else f"£{int(x)}"


def nice(d):
    return f"{d.day} {MONTHS[d.month - 1].capitalize()} {d.year}"


def listing(xs, word="or"):
    return xs[0] if len(xs) == 1 else ", ".join(xs[:-1]) + f" {word} " + xs[-1]


def normalise(text):
    t = re.sub(r"\s+", " ", text.lower().replace("’", "'").replace("👍", " yes ").replace("post code", "postcode")).strip()
    out = []
    for w in re.findall(r"[a-z']+|[^a-z']+", t):
        if w == "hundred" or w in NUMBERS:
            w = str(NUMBERS[w])
        elif len(w) >= 5 and w not in VOCAB and w not in KEEP and w.isalpha():
            w = (difflib.get_close_matches(w, VOCAB, 1, 0.86) or [w])[0]
        out.append(w)
    return "".join(out).replace("harbor", "harbour").replace("a 100", "100")


def find_date(t, bare=False):
    """Returns (date, or the text of an impossible one, or None; the text without it)."""
    mon = r"(jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\.?"
    got = None

    def build(y, m, d, raw):
        try:
            if y:
                return date(int(y) + (2000 if int(y) < 100 else 0), m, d)
            x = date(TODAY.year, m, d)
            return x if x >= TODAY - timedelta(60) else date(TODAY.year + 1, m, d)
        except ValueError:
            return raw.strip().title()
    num = lambda s: [x[:3] for x in MONTHS].index(s) + 1
    for pat, fn in [
            (r"\b(\d{4})-(\d\d?)-(\d\d?)\b", lambda m: build(m[1], int(m[2]), int(m[3]), m[0])),
            (r"\b(\d\d?)[/.](\d\d?)(?:[/.](\d{4}|\d\d))?\b(?!\d)", lambda m: build(m[3], int(m[2]), int(m[1]), m[0])),
            (r"\b(\d\d?)(?:st|nd|rd|th)? (?:of )?" + mon + r"(?:,? (\d{4}))?\b", lambda m: build(m[3], num(m[2]), int(m[1]), m[0])),
            (r"\b" + mon + r" (?:the )?(\d\d?)(?:st|nd|rd|th)?\b(?:,? (\d{4}))?", lambda m: build(m[3], num(m[1]), int(m[2]), m[0])),
            (r"\b(?:in )?((?<=in )a|\d+) (day|week|month)s?(?: from now| from today| time|' time)?\b",
             lambda m: TODAY + timedelta((1 if m[1] == "a" else min(int(m[1]), 999)) * {"day": 1, "week": 7, "month": 30}[m[2]])),
            (r"\bday after tomorrow\b", lambda m: TODAY + timedelta(2)), (r"\btomorrow\b", lambda m: TODAY + timedelta(1)),
            (r"\byesterday\b", lambda m: TODAY - timedelta(1)),
            (r"\b(today|right now|straight away|immediately|at once|right away)\b", lambda m: TODAY),
            (r"\bend of (the|this) month\b", lambda m: date(2026, 3, 31)), (r"\bend of next month\b", lambda m: date(2026, 4, 30)),
            (r"\b(next )?(" + "|".join(DAYS) + r")\b", lambda m: TODAY + timedelta((DAYS.index(m[2]) - TODAY.weekday() - 1) % 7 + 1
                                                       + (7 if m[1] and DAYS.index(m[2]) > TODAY.weekday() else 0))),
            (r"\bthe (\d\d?)(?:st|nd|rd|th)\b", lambda m: build(None, 3 if int(m[1]) >= 2 else 4, int(m[1]), m[0]))] + (
            [(r"\b(\d\d?)(?:st|nd|rd|th)\b", lambda m: build(None, 3 if int(m[1]) >= 2 else 4, int(m[1]), m[0]))] if bare else []):
        ms = list(re.finditer(pat, t))
        if ms:
            got = fn(ms[-1])
            t = re.sub(pat, " ", t)
            break
    return got, t


class Agent:
    def __init__(self):
        self.log = []
        self.reset()

    def reset(self):
        self.log.clear()
        self.data = copy.deepcopy(DATA)
        self.turn, self.used, self.user, self.ident, self.tries, self.misses, self.paid = 0, {}, None, {}, 0, 0, 0
        self.task, self.waiting = None, []
        return self.ask("menu", "greet")

    # ---- small helpers
    def say(self, key, **kw):
        n = self.used.get(key, 0)
        self.used[key] = n + 1
        return W[key][n % len(W[key])].format(menu=MENU, phone=PHONE, **kw)

    def ask(self, what, key, **kw):
        self.pending = (what, "menu" if key == "greet" else key, kw)
        return self.say(key, **kw)

    def again(self):
        return self.say(self.pending[1], **self.pending[2])

    def guard(self, gid, ok):
        self.log.append({"turn": self.turn, "guard": gid, "outcome": "passed" if ok else "failed"})
        return ok

    def once(self, gid, value, ok):
        """Evaluates a guard of the task once for each value."""
        seen = self.task["seen"]
        if seen.get(gid) == value and ok:
            return True
        seen[gid] = value
        return self.guard(gid, ok)

    def mine(self):
        return [u for u in self.data["units"].values() if u["tenant"] == self.user["account"]] if self.user else []

    def label(self, us, word="or"):
        return listing([f"{u['id']} ({u['size']} sq ft, {u['site']})" for u in us], word)

    def window(self):
        lo, hi = (14, 90) if self.task["name"] == "notice" else (0, 30)
        return TODAY + timedelta(lo), TODAY + timedelta(hi)

    # ---- one turn
    def invoke(self, text):
        self.turn += 1
        self.missed = False
        reply = self.handle(text or "", normalise(text or ""))
        self.guard("clear_answer", not self.missed)
        if not self.missed:
            self.misses = 0
        return reply

    def unclear(self, lead=None):
        self.missed = True
        self.misses += 1
        if self.misses >= 3:
            self.misses, self.task, self.waiting = 0, None, []
            return self.ask("menu", "give_up")
        return (lead or self.say("unclear")) + " " + self.again()

    def handle(self, raw, t):
        what = self.pending[0]
        if re.fullmatch(r"\W*(help|menu|options|main menu|what can you do|start over|start again|restart|begin again)\W*", t):
            self.task, self.waiting = None, []
            return self.ask("menu", "menu")
        if re.search(r"\b(bye|goodbye|see you|have a (nice|good) day)\b", t):
            self.task, self.waiting = None, []
            return self.ask("more", "bye")
        t_cut = re.sub(r",? ?\b(instead of|rather than)\b[^,.;]*", " ", t)
        found = self.intents(t_cut)
        scope = next((w for w, p in SCOPE if re.search(p, t)), None)
        if scope:
            self.guard("scope", False)
            reply = self.say("scope", what=scope)
            parts = re.split(r"[.,;?!](?=\s|$)| (?:and|but|also) ", raw)
            left = ", ".join(p for p in parts if not any(re.search(q, normalise(p)) for _, q in SCOPE))
            if self.intents(normalise(left)) and "new customer" not in scope:
                return reply + " " + self.handle(left, normalise(left))    # the rest of the message
            return reply + " " + (self.again() if self.task or what == "signin" else self.ask("more", "more"))
        head, rest, newid = self.identify(raw, t_cut, found)
        if head and not self.user:      # a failed attempt
            if found and not self.task and self.tries < 3:
                self.begin(found, rest)
            return head
        if (self.task or what == "signin") and not found and re.search(DROP, t.strip(" .!")):
            if what == "confirm":
                self.guard("confirm_change", False)
            return self.finish(self.say("dropped"))
        # a new wish
        cur = self.task["name"] if self.task else None
        num = re.fullmatch(r"\W*(?:option|number|no\.?|the|nr)? ?#?([1-5]|one|first|second|third|fourth|fifth)(?: one| option)?\W*", t)
        if num and what in ("menu", "more") and not found:
            k = {"one": 1, "first": 1, "second": 2, "third": 3, "fourth": 4, "fifth": 5}.get(num[1]) or int(num[1])
            found = [(list(TASKS)[k - 1], None)]
        fresh = [f for f in found if f[0] != cur]
        if fresh and (what == "offer_pay" and fresh[0][0] == "pay" or what == "resume" and fresh[0][0] == self.waiting[0]["name"]):
            return self.reply_to(what, t_cut if self.yes_no(t_cut) is False else "yes", rest)
        if fresh and what == "resume" and self.yes_no(t_cut) is False:
            self.waiting.pop(0)
        if fresh:
            self.guard("scope", True)
            name, topic = fresh[0]
            if name == "lookup" and self.task and topic and (self.user or topic not in ("units", "balance")):
                return self.answer(topic, t) + " " + self.again()
            if self.task and cur != "lookup":
                self.waiting.insert(0, self.task)
            self.begin(fresh, rest)
            return self.join(head, self.lead, self.advance())
        if newid and self.user and not self.task:
            return self.join(head, self.ask("menu", "what"))
        if newid and self.task:
            self.absorb(rest)
            return self.join(head, self.advance())
        if newid and not self.user and not self.task:
            return self.ask("signin", "ask_pc" if "who" in self.ident else "ask_who")
        return self.reply_to(what, t_cut, rest)

    def join(self, *parts):
        return " ".join(p for p in parts if p)

    def hits(self, t):
        hits = []
        for name, topic, pat in INTENTS:
            for m in re.finditer(pat, t):
                if not any(m.start() < e and s < m.end() for s, e, *_ in hits):
                    hits.append((m.start(), m.end(), name, topic))
        return sorted(hits, key=lambda h: h[0])

    def intents(self, t):
        out = []
        for _, _, name, topic in self.hits(t):
            if name not in [o[0] for o in out] and not (topic == "balance" and "pay" in [o[0] for o in out]):
                out.append((name, topic))
        if ("lookup", "rules") in out:
            out = [o for o in out if o[0] != "notice"]
        if {"lookup", "rent"} == {o[0] for o in out} and out[0][0] == "lookup" and "?" in t:   # a question about renting
            out = [o for o in out if o[0] == "lookup"]
        return out

    def begin(self, found, t):
        """Starts the first wish and queues the others; each takes its values from its own part of the message."""
        starts = {h[2]: h[0] for h in reversed(self.hits(t))}
        cuts = sorted(starts[n] for n, _ in found if n in starts)[1:] + [len(t)]
        new, at = [], 0
        for i, (n, topic) in enumerate(found):
            end = cuts[min(i, len(cuts) - 1)]
            self.task = {"name": n, "slots": {"topic": topic} if topic else {}, "seen": {}}
            wrong = self.absorb(t[at:end])
            self.lead = wrong if isinstance(wrong, str) and i == 0 else getattr(self, "lead", "") if i else ""
            new.append(self.task)
            at = end
        self.task = new[0]
        names = [x["name"] for x in new]
        self.waiting = new[1:] + [x for x in self.waiting if x["name"] not in names]

    # ---- identity
    def identify(self, raw, t, found):
        """Takes account number, name and postcode out of the message: (what to say, the rest, anything new?)"""
        what, new = self.pending[0], {}
        pc = re.search(r"\b([a-z]{2}\d{1,2}) ?(\d[a-z]{2})\b(?! ?(?:of )?(?:jan|feb|mar|apr|may))", t)
        if pc and pc[2][1:] not in ("st", "nd", "rd", "th"):
            new["pc"] = f"{pc[1]} {pc[2]}".upper()
            t = t.replace(pc[0], " ")
        acc = re.search(r"\btw[ -]?(\d{3,5})\b", t)
        if not acc and not self.user:
            clean = re.sub(r"(£ ?|\b(code|to|20\d\d-)) ?\d{4}\b|\d[/.-]\d+[/.-]\d{4}|[a-z]{3} 20\d\d", lambda m: "#" * len(m[0]), t)
            acc = re.search(r"(?<![\d£])\b(\d{4})\b(?! ?\d)", clean)
        if acc:
            new["who"] = "TW-" + acc[1]
            t = t.replace(acc[0], " ", 1)
        else:
            c = next((c for c in self.data["customers"].values() if re.search(rf"\b{c['name'].lower()}\b", raw.lower())), None)
            m = re.search(r"(?:[Mm]y name is|[Ii] am|[Ii]'m|[Tt]his is|[Nn]ame:?|[Ii]t's) ([A-Z][a-z]+ [A-Z][a-z]+)", raw)
            only = re.fullmatch(r"\s*([A-Za-z]+ [A-Za-z]+)[ .,]*", re.sub(r"\b[A-Za-z]{2}\d{1,2} ?\d[A-Za-z]{2}\b", "", raw))
            if c:
                new["who"] = c["name"]
            elif m and m[1] not in SITES.values():
                new["who"] = m[1]
            elif only and what == "signin" and not found and not re.search(f"{YES}|{NO}|{HEDGE}|{DROP}|\\b(what|why|how|my|the|you|i|is|it)\\b", t):
                new["who"] = only[1].title()
        if self.user:
            if "who" in new and new["who"] not in (self.user["account"], self.user["name"]) and acc:
                self.user, self.ident = None, {}             # another account
                self.waiting = []
                if self.task:
                    self.task["seen"] = {}
                    self.task["slots"] = {k: v for k, v in self.task["slots"].items() if k not in ("unit", "amount")}
            else:
                return "", t, False
        if not new:
            return "", t, False
        self.ident.update(new)
        if self.tries >= 3:
            return self.say("id_locked"), t, True
        if len(self.ident) < 2:
            return "", t, True
        c = next((c for c in self.data["customers"].values() if self.ident["who"] in (c["account"], c["name"])
                  and c["postcode"] == self.ident["pc"]), None)
        if self.guard("identity_match", c is not None):
            self.user = c
            return self.say("id_ok", name=c["name"].split()[0]), t, True
        self.tries += 1
        if self.tries >= 3:
            self.task, self.waiting, self.pending = None, [], ("menu", "menu", {})
            return self.say("id_locked"), t, True
        return self.ask("signin", "id_bad"), t, True

    # ---- values
    def absorb(self, t):
        """Takes the values the task needs out of the text. True if there were any; a string if one was wrong."""
        if not self.task:
            return False
        what, task = self.pending[0], self.task
        s, need, got = task["slots"], SLOTS[task["name"]], False
        early = "earliest" in t or "as soon as" in t or "asap" in t
        if "date" in need:
            d, t2 = find_date(t, what == "date")
            if d is None and (early or re.search(r"\bnow\b", t) and what == "date"):
                d = self.window()[0] if early else TODAY
            if d is None and "latest" in t:
                d = self.window()[1]
            if d is not None:
                s["date"], t, got = d, t2, True
        units = re.findall(r"(?<![\w'£])([hms])[- ]?(\d{2})(?!\d)", t)
        if units:
            uid = (units[-1][0] + units[-1][1]).upper()
            t = re.sub(r"(?<![\w'£])[hms][- ]?\d{2}(?!\d)", " ", t)
            u = self.data["units"].get(uid)
            if task["name"] == "rent":
                if not u or u["tenant"]:
                    return self.say("not_free", unit=uid)
                s.update(site=u["site"], size=u["size"], want=uid)
                got = True
            elif "unit" in need:
                s["unit"], got = uid, True
        sites = [x for x in SITES.values() if x.split()[0].lower() in t]
        size = self.size_of(t, what == "size")
        nth = re.fullmatch(r"\W*(?:the |number |option )?(1|2|3|4|first|second|third|last)(?: one)?\W*", t)
        if nth and what in ("site", "size") and not sites and not size:
            opts = list(SITES.values()) if what == "site" else self.pending[2]["nums"]
            k = {"first": 1, "second": 2, "third": 3, "last": len(opts)}.get(nth[1]) or int(nth[1])
            if k <= len(opts):
                s[what], got = opts[k - 1], True
        if task["name"] == "rent":
            if sites or re.search(r"\b(any|whichever|whatever|don't mind|don't care|anywhere)\b", t) and what == "site":
                s["site"], got = (sites or ["Harbour Road"])[-1], True
                s.pop("want", None)
            if size:
                s["size"], got = size, True
                s.pop("want", None)
        elif "unit" in need and not units and self.user:
            cand = self.candidates()
            pick = [u for u in cand if (not sites or u["site"] in sites) and (not size or u["size"] == size)] if sites or size else []
            if task["name"] == "pay" and re.search(r"\b(all|everything|both|the lot|total)\b", t) and len(cand) > 1 and what != "amount":
                s["unit"], s["amount"], got = "ALL", "full", True
            elif len(pick) == 1:
                s["unit"], got = pick[0]["id"], True
            elif what == "unit":
                m = re.search(r"\b(first|second|third|last|other|\d{1,2})\b", t)
                k = {"first": 0, "second": 1, "third": 2, "last": len(cand) - 1}.get(m[1]) if m else None
                if m and m[1].isdigit():
                    k = next((i for i, u in enumerate(cand) if u["id"][1:] == m[1].zfill(2)), int(m[1]) - 1)
                if k is not None and 0 <= k < len(cand):
                    s["unit"], got = cand[k]["id"], True
        if "code" in need:
            c = re.findall(r"(?<![\w£])\d(?:[ -]?\d){2,9}(?!\w)", t)
            if not c and what == "code":
                c = re.findall(r"\b(?=\w*\d)\w{2,}\b", t)
            if c:
                s["code"], got = re.sub(r"[ -]", "", c[-1]), True
        if "amount" in need:
            m = re.findall(r"£ ?(\d+(?:\.\d\d?)?)|(-?\b\d+(?:\.\d\d?)?) ?(?:pounds?|quid|gbp|£)|\b(?:pay|make it) (\d+(?:\.\d\d?)?)\b", t)
            if not m and what in ("amount", "confirm", "amend"):
                m = re.findall(r"()()((?<![\w-])-?\d+(?:\.\d\d?)?)(?!\w)", t)
            if m:
                s["amount"], got = float("".join(m[-1])), True
            elif re.search(r"\bhalf\b", t):
                s["amount"], got = "half", True
            elif re.search(r"\b(full|in full|all of it|whole|everything|the lot|entire|all)\b", t) or (
                    what == "amount" and re.search(YES, t) and not re.search(NO, t)):
                s["amount"], got = "full", True
        if "topic" in need and what == "topic":
            words = {"units": "unit", "balance": "balance|owe|due", "prices": "price|cost", "vacant": "free|avail|vacan",
                     "hours": "hour|open", "rules": "rule|notice"}
            tp = [k for k in ("vacant", "balance", "prices", "hours", "rules", "units") if re.search(words[k], t)]
            if tp:
                s["topic"], got = tp[0], True
        return got

    def size_of(self, t, asked):
        m = re.search(r"\b(\d{2,3}) ?(?:sq|square|ft|feet|foot)", t) or (re.search(r"\b(\d{2,3})\b", t) if asked else None)
        if m and int(m[1]) in PRICES:
            return int(m[1])
        x = re.search(r"\b(\d\d?) ?(?:x|by) ?(\d\d?)\b", t)
        if x and int(x[1]) * int(x[2]) in PRICES:
            return int(x[1]) * int(x[2])
        for n, p in ((150, r"extra[ -]large|\bxl\b|biggest|largest|huge"), (100, r"\b(large|big)\b"), (50, r"\b(medium|middle|mid)\b"),
                     (25, r"\b(small|smallest|little|tiny)\b")):
            if re.search(p, t):
                return n

    def candidates(self):
        us = self.mine()
        return [u for u in us if u["due"]] if self.task["name"] == "pay" else us

    # ---- moving on with the task: checks, the next question, or the summary
    def advance(self):
        task, s = self.task, self.task["slots"]
        name = task["name"]
        if name == "lookup":
            if "topic" not in s:
                return self.ask("topic", "ask_topic")
            if s["topic"] not in ("units", "balance"):
                return self.finish(self.answer(s["topic"], ""))
        if not self.user:
            if self.tries >= 3:
                return self.finish(self.say("id_locked"))
            key = "id_bad" if len(self.ident) == 2 else "ask_pc" if "who" in self.ident else "ask_who" if self.ident else "ask_both"
            return self.ask("signin", key)
        if name == "lookup":
            return self.finish(self.answer(s["topic"], ""))
        if name == "rent":
            n = len(self.mine())
            if not self.once("unit_limit", n, n < MAX_UNITS):
                return self.finish(self.say("limit", n=MAX_UNITS))
            if "site" not in s:
                return self.ask("site", "ask_site")
            free = [u for u in self.data["units"].values() if not u["tenant"] and u["site"] == s["site"]]
            sizes = sorted({u["size"] for u in free})
            text = listing([f"{SIZE_NAMES[z]} ({z} sq ft, {money(PRICES[z])} a month)" for z in sizes]) if sizes else "nothing"
            if "size" not in s:
                return self.ask("size", "ask_size", site=s["site"], sizes=text, nums=sizes)
            if s["size"] not in sizes:
                z = s.pop("size")
                else_at = sorted({u["site"] for u in self.data["units"].values() if not u["tenant"] and u["size"] == z})
                alt = f"That size is free at {listing(else_at, 'and')}." if else_at else ""
                self.pending = ("size", "ask_size", {"site": s["site"], "sizes": text, "nums": sizes})
                return self.say("no_vacancy", size=z, site=s["site"], alt=alt).strip() + " " + self.again()
            s["unit"] = s.get("want") or next(u["id"] for u in free if u["size"] == s["size"])
        else:
            cand = self.candidates()
            if not self.mine():
                return self.finish(self.say("no_units"))
            if "unit" in s and s["unit"] != "ALL" and s["unit"] not in [u["id"] for u in self.mine()]:
                self.missed, self.misses = True, self.misses + 1
                return self.ask("unit", "not_yours", unit=s.pop("unit"), units=self.label(self.mine()))
            if name == "pay":
                if not cand or ("unit" in s and s["unit"] != "ALL" and not self.data["units"][s["unit"]]["due"]):
                    return self.finish(self.say("nothing_due"))
            if "unit" not in s:
                if len(cand) > 1:
                    return self.ask("unit", "ask_unit_pay" if name == "pay" else "ask_unit",
                                    units=self.label(cand, "and" if name == "pay" else "or"))
                s["unit"] = cand[0]["id"]
        u = self.data["units"].get(s["unit"])
        if name == "notice" and not self.once("balance_cleared", u["id"], not u["due"]):
            return self.ask("offer_pay", "owing", due=money(u["due"]), unit=u["id"])
        if name == "code" and not self.once("not_overlocked", u["id"], not u["locked"]):
            return self.ask("offer_pay", "overlocked", due=money(u["due"]), unit=u["id"])
        if "date" in SLOTS[name]:
            lo, hi = self.window()
            kw = {"lo": nice(lo), "hi": nice(hi)}
            if "date" not in s:
                return self.ask("date", "ask_date_" + name, **kw, **({"unit": u["id"]} if name == "notice" else {}))
            d = s["date"]
            if not self.once("date_window", d, isinstance(d, date) and lo <= d <= hi):
                del s["date"]
                return self.ask("date", "bad_date", given=nice(d) if isinstance(d, date) else d, **kw)
        if name == "code":
            if "code" not in s:
                return self.ask("code", "ask_code", unit=u["id"])
            c = s["code"]
            why = ("it has to be exactly six digits" if not re.fullmatch(r"\d{6}", c) else
                   "all its digits are the same" if len(set(c)) == 1 else
                   "it is a simple run" if c in "01234567890" or c in "09876543210" else
                   "it is the code you have now" if c == u["code"] else None)
            if not self.once("code_format", (u["id"], c), why is None):
                del s["code"]
                return self.ask("code", "bad_code", why=why)
        if name == "pay":
            units = [u] if u else self.candidates()
            due, left = sum(x["due"] for x in units), PAY_CAP - self.paid
            label = u["id"] if u else listing([x["id"] for x in units], "and")
            if left <= 0:
                self.once("payment_limit", ("cap", s.get("amount")), False)
                return self.finish(self.say("cap_used", cap=money(PAY_CAP)))
            if "amount" not in s:
                return self.ask("amount", "ask_amount", due=money(due), unit=label)
            a = {"full": due, "half": round(due / 2, 2)}.get(s["amount"], s["amount"])
            if not self.once("payment_limit", (label, a), 0 < a <= min(due, left)):
                del s["amount"]
                return self.ask("amount", "bad_amount", max=money(min(due, left)))
            s["sum"] = a
            return self.ask("confirm", "sum_pay", amount=money(a), unit=label, card=self.user["card"])
        kw = {"unit": u["id"], "size": u["size"], "site": u["site"], "price": money(PRICES[u["size"]]), "code": s.get("code"),
              "date": nice(s["date"]) if "date" in s else ""}
        return self.ask("confirm", "sum_" + name, **kw)

    def execute(self):
        s, name = self.task["slots"], self.task["name"]
        u, kw = self.data["units"].get(s["unit"]), self.pending[2]
        if name == "rent":
            u["tenant"], u["starts"] = self.user["account"], s["date"]
        elif name == "notice":
            u["ends"] = s["date"]
        elif name == "code":
            u["code"] = s["code"]
        else:
            left = s["sum"]
            units = [u] if u else self.candidates()
            for x in units:
                part = min(left, x["due"])
                x["due"], left = round(x["due"] - part, 2), round(left - part, 2)
                x["locked"] = x["locked"] and x["due"] > 0
            self.paid += s["sum"]
            rest = sum(x["due"] for x in units)
            kw = {**kw, "left": f"{money(rest)} remains open." if rest else "Nothing is left to pay there."}
        return self.finish(self.say("done_" + name, **kw))

    def finish(self, text):
        self.task = None
        if self.waiting:
            return text + " " + self.ask("resume", "resume", task=TASKS[self.waiting[0]["name"]])
        return text + " " + self.ask("more", "more")

    # ---- looking things up
    def answer(self, topic, t):
        units = self.data["units"].values()
        if topic == "hours":
            return "All sites open every day from 6 am to 10 pm; the desks are staffed Monday to Saturday, 9 am to 5 pm."
        if topic == "rules":
            return "Notice has to reach us at least 14 and at most 90 days ahead, and the unit must be paid up."
        if topic == "prices":
            z = self.size_of(t, False)
            if z:
                return f"A {SIZE_NAMES[z]} unit of {z} sq ft is {money(PRICES[z])} a month at every site."
            return "Per month: " + ", ".join(f"{SIZE_NAMES[z]} ({z} sq ft) {money(p)}" for z, p in PRICES.items()) + "."
        if topic == "vacant":
            return "Free just now: " + "; ".join(f"{site}: " + ", ".join(
                f"{u['id']} ({u['size']} sq ft)" for u in units if not u["tenant"] and u["site"] == site) for site in SITES.values()) + "."
        if not self.mine():
            return "There is no unit on your account at present."
        if topic == "balance":
            owed = [u for u in self.mine() if u["due"]]
            return ("You owe " + listing([f"{money(u['due'])} for {u['id']}" for u in owed], "and") + "."
                    if owed else "Nothing is due on your account.")
        return "You have " + listing([f"{u['id']} ({u['size']} sq ft, {u['site']}, {money(PRICES[u['size']])} a month"
                                      + (f", ending {nice(u['ends'])}" if u["ends"] else "") + (", locked for arrears" if u["locked"] else "") + ")"
                                      for u in self.mine()], "and") + "."

    # ---- the answer to the question that was asked
    def yes_no(self, t):
        if re.search(HEDGE, t):
            return None
        no_problem = re.sub(r"\b(no (problem|worries|objections?|doubt)|why not|don't worry)\b", "yes", t)
        if re.search(NO, no_problem):
            return False
        return True if re.search(YES, no_problem) else None

    def reply_to(self, what, t, rest):
        yn = self.yes_no(t)
        if what in ("menu", "more"):
            if re.search(r"\b(thanks|thank you|cheers|ta)\b", t) and yn is None:
                return self.say("thanks") + " " + self.ask("more", "more")
            if re.fullmatch(r"\W*(hi|hello|hey|good (morning|afternoon|evening))( there| all)?\W*", t):
                return self.ask("menu", "menu")
            if what == "more" and yn is not None:
                return self.ask("menu", "next") if yn else self.ask("more", "bye")
            return self.unclear()
        if what == "resume":
            if yn is None and re.search(DROP, t):
                yn = False
            if yn is None:
                return self.unclear()
            nxt = self.waiting.pop(0)
            if not yn:
                return self.finish(self.say("dropped"))
            self.task = nxt
            return self.advance()
        if what == "offer_pay":
            before = self.task["slots"].get("unit")
            if yn is None and self.absorb(rest) is True and self.task["slots"].get("unit") != before:
                return self.advance()
            if yn is None:
                return self.unclear()
            if not yn:
                return self.finish(self.say("dropped"))
            self.waiting.insert(0, self.task)
            self.task = {"name": "pay", "slots": {"unit": before}, "seen": {}}
            return self.advance()
        if what == "signin":
            if re.search(r"\b(don't (know|have|remember)|forgot|lost|no idea|can't (find|remember))\b", t):
                return self.unclear("The full name will do in place of the number, but the postcode I do need.")
            got = self.absorb(rest)
            return self.again() if got is True else self.unclear()
        if what in ("confirm", "amend"):
            old = dict(self.task["slots"])
            got = self.absorb(rest)
            changed = got is True and any(self.task["slots"].get(k) != old.get(k) for k in self.task["slots"])
            if isinstance(got, str):
                return self.unclear(got)
            names = {"date": r"\b(date|day|time|when)\b", "unit": r"\b(unit|other one)\b", "site": r"\b(site|place|location|where)\b",
                     "size": r"\bsize\b", "code": r"\bcode\b", "amount": r"\b(amount|sum|how much)\b"}
            hit = [k for k in SLOTS[self.task["name"]] if re.search(names.get(k, "$^"), t)]
            if what == "confirm":
                tweak = re.search(r"\bbut\b", t) or hit and (re.search(r"\b(different|another|other|except)\b", t) or
                                                            "change" in t and self.task["name"] != "code")
                if self.guard("confirm_change", yn is True and not changed and not tweak):
                    return self.execute()
            if changed:
                if "unit" in old and self.task["slots"].get("unit") != old["unit"] and self.task["name"] == "pay":
                    if self.task["slots"].get("amount") == old.get("amount") and self.task["slots"]["unit"] != "ALL":
                        self.task["slots"].pop("amount", None)
                return self.advance()
            if hit and (yn is False or what == "amend" or re.search(r"\b(change|different|another|other)\b", t)):
                for k in hit:
                    self.task["slots"].pop(k, None)
                self.task["slots"].pop("want", None)
                return self.advance()
            if what == "confirm":
                return self.ask("amend", "amend") if yn is False else self.unclear()
            return self.finish(self.say("dropped")) if yn is False or re.search(r"\b(drop|cancel)\b", t) else self.unclear()
        got = self.absorb(rest)
        if got is True:
            return self.advance()
        return self.unclear(got or None)
