"""Tidewater Fitness Club: a small deterministic customer-service chat agent."""
import copy
import re
from datetime import date, timedelta

TODAY, NL = date(2025, 6, 2), "\n"            # a Monday
D = date
PLANS = {"off-peak": (25, "weekday classes starting between 9:00 and 16:00"),
         "standard": (38, "every class except Reformer Pilates"),
         "premium": (52, "every class, Reformer Pilates included")}
ORDER = list(PLANS)

def _m(name, email, dob, plan, term, induction, used, bookings, freezes=()):
    return dict(name=name, email=email, dob=dob, plan=plan, term=term, induction=induction,
                used=used, bookings=list(bookings), freezes=list(freezes))

def _c(name, words, day, time, coach, places, equipment=False, reformer=False):
    return dict(name=name, words=words, day=D(2025, 6, day), time=time, coach=coach,
                places=places, equipment=equipment, reformer=reformer)

DATA = {
    "members": {
        "4107": _m("Priya Nair", "priya.nair@postbox.example", D(1988, 3, 12), "standard", D(2025, 1, 31), True, 0, ["C07"]),
        "4112": _m("Tom Okafor", "tom.okafor@postbox.example", D(1955, 10, 2), "off-peak", D(2024, 8, 31), False, 0, ["C04"]),
        "4126": _m("Lena Fischer", "lena.f@mailhaus.example", D(1993, 7, 25), "premium", D(2025, 11, 30), True, 3, ["C05"]),
        "4133": _m("Marcus Bell", "mbell@postbox.example", D(1979, 1, 8), "standard", D(2025, 12, 31), False, 0, []),
        "4140": _m("Aoife Brennan", "aoife.b@mailhaus.example", D(1990, 5, 17), "premium", D(2025, 3, 31), True, 1, ["C12", "C03"]),
        "4158": _m("Daniel Sousa", "d.sousa@postbox.example", D(1985, 12, 30), "standard", D(2025, 2, 28), True, 2, [], [(D(2025, 5, 15), D(2025, 7, 15))]),
        "4163": _m("Hana Suzuki", "hana.suzuki@mailhaus.example", D(2001, 4, 4), "off-peak", D(2025, 4, 30), True, 0, ["C02"]),
        "4179": _m("George Whitlock", "gwhitlock@postbox.example", D(1962, 9, 19), "premium", D(2024, 6, 30), False, 2, ["C01"]),
        "4185": _m("Yasmin Haddad", "yasmin.h@mailhaus.example", D(1996, 11, 11), "standard", D(2025, 8, 31), True, 0, ["C01", "C06", "C11"]),
    },
    "classes": {
        "C01": _c("Sunrise Yoga", "sunrise yoga", 3, "07:00", "Mira", 6),
        "C02": _c("Gentle Pilates", "gentle pilates", 3, "10:30", "Owen", 4),
        "C03": _c("Spin", "spin spinning cycling", 3, "18:15", "Kit", 3, True),
        "C04": _c("Aqua Fit", "aqua aquafit", 4, "11:00", "Dolores", 9),
        "C05": _c("Reformer Pilates", "reformer pilates", 4, "17:30", "Owen", 2, True, True),
        "C06": _c("Boxing Circuit", "boxing circuit box", 5, "19:00", "Kit", 5),
        "C07": _c("Yoga Flow", "flow yoga", 5, "12:15", "Mira", 7),
        "C08": _c("Spin", "spin spinning cycling", 6, "13:00", "Kit", 8, True),
        "C09": _c("Zumba", "zumba dance", 6, "14:00", "Dolores", 11),
        "C10": _c("Kettlebell Basics", "kettlebell kettlebells", 6, "18:00", "Owen", 0),
        "C11": _c("Yin Yoga", "yin yoga", 7, "09:30", "Mira", 4),
        "C12": _c("Reformer Pilates", "reformer pilates", 8, "10:00", "Owen", 1, True, True),
    },
}
CLASS_WORDS = sorted({w for c in DATA["classes"].values() for w in c["words"].split()})
COACHES = ["mira", "owen", "kit", "dolores"]

MENU = ["book", "freeze", "plan", "lookup"]
LOOKS = ["timetable", "bookings", "membership", "prices"]
TASKNAME = {"book": "the class booking", "freeze": "the freeze", "plan": "the plan change", "lookup": "the look-up"}
MENUTEXT = "1. Book a class\n2. Freeze your membership\n3. Change your plan\n4. Look something up"
DESK = "the front desk on 01632 960 145"

W = {  # every reply has several wordings, used in turn
    "greet": ["Hello, and welcome to Tidewater Fitness Club! Here is what I can do:\n{menu}\nWhat would you like?",
              "Hi, this is Tidewater Fitness Club. I can help with these:\n{menu}\nWhich one is it?"],
    "menu": ["Here is what I can do:\n{menu}\nWhich would you like?", "You can pick from these:\n{menu}\nWhat shall it be?"],
    "hello": ["Hello again!", "Hi there!"],
    "ask_id": ["I need to know who you are first: your member number (or the email we hold) and your date of birth, please.", "Before I open your account, could you give me your member number or email, and your date of birth?"],
    "ask_key": ["Thank you. And your member number, or the email address on your membership?", "Got the date of birth. Which member number or email goes with it?"],
    "ask_dob": ["Thanks. And your date of birth, with the year?", "Good, now your full date of birth, please."],
    "bad_id": ["Those details don't belong together in our records. Please check the member number or email and the date of birth and send what needs correcting.", "I can't find a member with that combination. Could you look at the number or email and the date of birth again?"],
    "locked": ["I couldn't establish who you are, so account matters are closed in this chat. Please bring your card to reception or ring {desk}. The timetable and prices I can still show you.", "Without matching details I can't open an account here; {desk} can help you with that. Timetable and prices are still open to you."],
    "known": ["Thank you, {name}, I've found you.", "Lovely, {name}, that matches."],
    "ask_class": ["Which class would you like?\n{list}", "These are the classes; which one shall I book?\n{list}"],
    "some_class": ["There are a few that fit:\n{list}\nWhich one?", "I have more than one of those:\n{list}\nWhich do you want?"],
    "no_class": ["Nothing on this week's timetable fits that. What there is:\n{list}\nWhich would suit you?", "I don't see such a class this week. These are on:\n{list}\nIs one of them all right?"],
    "have_class": ["You already have a place in {cls}. Which other class would you like?", "{cls} is booked for you already. Did you mean another one?"],
    "frozen": ["Your membership is frozen until {end}, so {cls} can't be booked.", "{cls} falls within your freeze, which runs until {end}."],
    "not_covered": ["{cls} isn't part of the {plan} plan, which takes in {cover}.", "Your {plan} plan gives you {cover}, and {cls} isn't among them."],
    "induction": ["{cls} uses equipment, and you haven't had your equipment induction yet; it comes first. {desk} books those.", "For {cls} the equipment induction has to be done beforehand, and yours is still open. Please arrange it with {desk}."],
    "full": ["{cls} is full, I'm afraid.", "There are no places left in {cls}."],
    "three": ["You hold three bookings already, which is the most at one time, so I can't add {cls}.",
              "Three bookings is the most a member can hold, and you have three, so {cls} will have to wait."],
    "other_class": ["You could take one of these:\n{list}\nWould one of them do?", "Open to you are:\n{list}\nShall I book one of those?"],
    "conf_book": ["I'd book you into {cls}. Shall I go ahead?", "So that's {cls}. Do you want me to book it?"],
    "done_book": ["Done, you have a place in {cls}.", "You're booked: {cls}. Enjoy it!"],
    "ask_start": ["From which date should the freeze run? Today is {today}; it can begin from tomorrow to {last}.", "When should the freeze begin? Any day from tomorrow to {last} (today is {today})."],
    "bad_date": ["That isn't a date in the calendar. Which day should it be?", "There's no such day, I'm afraid. What date did you mean?"],
    "bad_start": ["{when} won't work: a freeze begins between tomorrow and {last}. Which other date?", "I can't start it on {when}. It has to be from tomorrow to {last}; which day would you like?"],
    "overlap": ["You're frozen until {end} already, so a new freeze can begin on that day at the earliest. Which date?", "There is a freeze until {end}; the next one can't begin before then. What date suits you?"],
    "ask_months": ["For how many whole months? You have {left} left this year.", "How many months should it last? Up to {left} this year."],
    "no_months": ["You've used all three freeze months of this year, so I can't add another freeze.", "The three months of freeze for this year are used up, so another isn't possible before January."],
    "bad_months": ["A freeze takes whole months, at least one, and you have {left} left this year. How many shall it be?", "I can't do that length: it has to be whole months, from one up to the {left} you have left. How many?"],
    "conf_freeze": ["I'd freeze your membership from {start} to {end} ({n}), with no fees in that time.{rel} Is that what you want?", "That makes a freeze of {n}, from {start} to {end}, free of fees.{rel} Shall I set it up?"],
    "done_freeze": ["It's set: your membership is frozen from {start} to {end}.", "All done, the freeze runs from {start} to {end}."],
    "ask_plan": ["You're on {plan} now. Which plan would you like?\n{list}", "Which plan shall I move you to from {plan}?\n{list}"],
    "same_plan": ["{plan} is the plan you have. Which other one?\n{list}", "You're already on {plan}. The others are:\n{list}\nWhich one?"],
    "none_that_way": ["There is no plan further that way from {plan}. The others are:\n{list}\nWhich would you like?", "{plan} is already at that end. You could take:\n{list}\nWhich one?"],
    "term": ["Moving down to {new} is possible once your minimum term is over, and it runs until {term}.",
             "Your minimum term lasts until {term}; until then I can't move you down to {new}."],
    "conf_plan": ["I'd move you from {old} to {new} at £{fee} a month, as of today. Shall I?", "So from {old} to {new}, £{fee} a month, starting today. Is that right?"],
    "done_plan": ["You're on {new} now, at £{fee} a month.", "That's changed: {new}, £{fee} a month."],
    "ask_look": ["What shall I look up?\n1. The class timetable\n2. Your bookings\n3. Your membership\n4. Plans and prices", "Which of these would you like to see?\n1. The class timetable\n2. Your bookings\n3. Your membership\n4. Plans and prices"],
    "timetable": ["This is on:\n{list}\nIf you'd like one, give me its number.", "Here you are:\n{list}\nGive me a number to book one, or tell me what else you need."],
    "no_bookings": ["You have no bookings at the moment.", "Nothing is booked for you right now."],
    "bookings": ["You're booked into:\n{list}", "Your bookings are:\n{list}"],
    "membership": ["{name}, you're on {plan} at £{fee} a month; minimum term until {term}; equipment induction {ind}; freeze months left this year: {left}.{fr}", "Your plan is {plan}, £{fee} a month, {name}. The minimum term runs to {term}, the equipment induction is {ind}, and you have {left} freeze month(s) left this year.{fr}"],
    "prices": ["Our plans:\n{list}", "These are the plans and what they take in:\n{list}"],
    "scope": ["I'm sorry, that's not something I can do here. Please ask {desk}.", "That is outside what I handle; {desk} will be glad to help."],
    "scope_menu": ["I do class bookings, freezes, plan changes and look-ups. Is there one of those I can help with?", "What I can do is book a class, freeze, change a plan or look something up. Would you like any of those?"],
    "back": ["Back to where we were: {q}", "Now, to go on: {q}"],
    "aside": ["All right, leaving {task} aside.", "Fine, we'll drop {task}."],
    "nothing": ["All right, nothing has been changed.", "Understood, I've left everything as it was."],
    "more": ["Is there anything else?", "What else can I do for you?"],
    "next": ["You also asked for something else.", "Now to your other wish."],
    "bye": ["Thank you, and see you at the club!", "You're welcome. Have a good workout!"],
    "huh": ["Sorry, I didn't follow that.", "I'm not sure I understood."],
    "giveup": ["We seem to be stuck, so let me start afresh; {desk} can help too.\n{menu}", "Let's leave that for now. You can also reach {desk}. Otherwise:\n{menu}"],
}
HINT = {"menu": "Please say which you need, by number or name:\n" + MENUTEXT, "more": "You can choose again:\n" + MENUTEXT,
        "identity": "A member number has four digits, such as HF-1234 (your email does as well), and a date of birth looks like 5 May 1990.",
        "class": "Tell me the number in the list, or the class with its day.", "timetable": "Give me a number from the list to book it, or say what else you need.",
        "start": "A date such as 20 June will do.", "months": "Just the number of months, please.",
        "plan": "It's off-peak, standard or premium.", "confirm": "A plain yes or no, please, or tell me what to alter.",
        "lookup": "Timetable, bookings, membership or prices?"}

MON = "jan feb mar apr may jun jul aug sep oct nov dec".split()
MR = r"(jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)"
YR = r"(?:,?\s*((?:19|20)\d\d|'?\d\d)(?![\d:]|\s*(?:months?|weeks?|am|pm)))?"
WD = "monday tuesday wednesday thursday friday saturday sunday".split()
WDR = r"(mon|tue|tues|wed|thu|thur|thurs|fri|sat|sun)(?:day|sday|nesday|rsday|urday)?s?"
NUM = {w: i for i, w in enumerate("zero one two three four five six seven eight nine ten eleven twelve".split())}
NUM.update({"a": 1, "an": 1, "couple": 2})
NR = r"(\d+|zero|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|an?)"
ORDW = dict(first="1st", second="2nd", third="3rd", fourth="4th", fifth="5th", sixth="6th", seventh="7th", eighth="8th",
            ninth="9th", tenth="10th", fifteenth="15th", twentieth="20th")
PLANR = r"(off[- ]?peak|standard|premium|cheapest|lowest|top|best|highest|most expensive)"
CW = "(?:" + "|".join(CLASS_WORDS) + ")"

TASKS = {
    "book": r"\b(book(?: me)?(?! ?ings?)|reserve|sign (?:me )?up for|sign me up|enroll?|(?:make|new|need|want|like) (?:a )?(?:class )?booking|put me (?:down|in|on)|get (?:me )?(?:in|into|onto)\b|join (?:an?|the)?.{0,20}(?:class|" + CW + r")|(?:spot|place|space) (?:in|on|for|at)|(?:take|attend|do|try|go to) (?:an?|the|some) ?.{0,20}(?:class|" + CW + "))",
    "freeze": r"\b(freez\w*|pause|pausing|suspend\w*|on hold|(?:take|taking|need) a break)\b",
    "plan": r"\b(upgrad\w*|downgrad\w*|(?:chang|switch|swap|mov|alter)\w*\b.{0,25}(?:plan|membership|tier|package|off[- ]?peak|standard|premium)\b(?! (?:number|include))|(?:get|go|want|like|need|have|try)\b.{0,25}(?:tier|package|off[- ]?peak|standard|premium)\b|(?:cheaper|better|different|another|new|higher|lower) (?:plan|membership|tier))"}
STRONG_LOOK = {"membership": r"freez\w*( months?)? .{0,25}(left|remaining|used)|how (many|much) (months? )?(of )?freez|(what|which) plan (am|do|have) i|(is|am|when).{0,20}\b(frozen|unfrozen)", "timetable": r"(what|which) classes|time ?table|class schedule|what'?s on\b|list of classes|(what|which|show|see|list)\b.{0,12} classes (do|are|can)|(is|are) there (an?|any) .{0,20}(class|" + CW + r")|when\b.{0,16}" + CW,
               "bookings": r"my (bookings|classes|reservations)|am i booked|(what|which).{0,20}i('?ve)? (have )?book(ed)?\b|(show|see|check|list|view|any) .{0,12}bookings?"}
LOOK = {"bookings": r"\bbookings\b", "membership": r"(what|which|when|show|check|see|tell|look|view|how|is|about|know)\b.{0,40}((my|her|his) (plan|membership|account|details|contract|term|freeze)|minimum term|induction)|^my (membership|account|details|plan)(?! (?:number|no|id))",
        "prices": r"\b(prices?|pricing|costs?|how much|fees?)\b|(what|which) (are )?(the |your )?plans|plans (do|are)|what('s| is| does).{0,20}" + PLANR + "|difference between",
        "timetable": r"\bschedule\b|\bclasses\b"}
HARD = (r"\b(end|ending|terminat\w*|quit|leave|cancel\w*|close|stop|resign)\b.{0,20}\b(membership|contract|account|club)\b|\b(cancel\w*|move|reschedul\w*|drop|unbook|delete)\b.{0,25}\b(booking|class|reservation|" + CW +
        r")\b|\b(unfreez\w*|(?:end|stop|lift|cancel|undo|remove|shorten)\w*.{0,14}freez\w*)|\b(chang|updat)\w*.{0,15}(address|email|phone|card|bank|name|password)|\brefund|waiting list|waitlist|guest pass|\b(new member|become a member|join the club)")
SOFT = (r"\b(personal train\w*|trainer|diet|nutrition|injur\w*|hurt|pain|doctor|sauna|steam room|towels?|lockers?|parking|lost property|left my|gift|job|vacanc\w*|complain\w*|complaint|protein|opening (hours|times)|open (on|at|until)|close at|weather|joke|football|news|poem|recipe|direct debit|invoice|payment|pay|discount|human|real person|someone|agent|manager|staff|cr[eè]che|childcare|massage|physio)\b")
YES = r"\b(yes|yep|yeah|yup|yea|ya|aye|y|sure|ok|okay|okey|correct|confirm|confirmed|go (?:ahead|for it|on)|do (?:it|that|so)|absolutely|definitely|of course|certainly|agreed|i agree|sounds (?:good|great|fine|right)|looks (?:good|right)|perfect|proceed|book it|freeze it|change it|exactly|i guess so|i do|by all means)\b|👍"
WEAK = r"\b(please|right|good|fine|great|lovely)\b"
NO = r"\b(no|nope|nah|nay|n|negative|don'?t|do not|not|never|cancel|stop|leave it|forget it|wrong|incorrect|changed my mind|hold off|skip|abort|scrap)\b|👎"
DROP = r"^(?:please |ok |no |actually )*(cancel( (that|this|it))?|never ?mind|forget (it|that|about it)|stop|quit|start over|(main |back to( the)? )?menu|go back|back|leave it|i('ve| have)? changed my mind)\b[ .!]*$"

def yesno(t):
    t = re.sub(r"no problem|no worries|not a problem|why not|no objections?|don'?t mind|no doubt", "yes", t)
    if re.search(r"not (?:\w+ )?sure|unsure|don'?t know|dunno|maybe|perhaps|\bbut\b|\bif\b", t): return None
    t = re.split(r"\bactually\b|\bwait\b|hang on|second thoughts?", t)[-1]
    t = re.sub(r"(don'?t|do not|not|never) (?:\w+ )?(do (it|that)|want|right|correct|ok(ay)?|good|fine|book it|freeze it|change it|proceed|confirm)", "no", t)
    yes, no, weak = (re.search(p, t) for p in (YES, NO, WEAK))
    if "?" in t and not (yes and yes.start() == 0): return None
    if yes and no: return None
    return True if yes else False if no else True if weak else None

def num(s):
    return int(s) if s.isdigit() else NUM[s]

def mkdate(d, m, y):
    """A date, or None where the calendar has no such day; without a year the next one to come."""
    if y is not None:
        y = int(str(y).strip("'"))
        y += 0 if y > 99 else 2000 if y < 30 else 1900
    try:
        return date(y, m, d) if y else date(2025 if date(2025, m, d) > TODAY - timedelta(60) else 2026, m, d)
    except ValueError:
        return None

def mon(s):
    return MON.index(s[:3]) + 1

def add_months(d, n):
    y, m = divmod(d.month - 1 + n, 12)
    for day in (d.day, 30, 29, 28):
        try:
            return date(d.year + y, m + 1, day)
        except ValueError:
            pass

def dates(t, loose=False):
    """All (position, end, date or None, had_year) of a text; loose adds spoken forms such as 'next Monday'."""
    out = []

    def take(pat, fn):
        nonlocal t
        for m in re.finditer(pat, t): out.append((m.start(), m.end(), *fn(m)))
        t = re.sub(pat, lambda m: "~" * len(m[0]), t)
    take(r"\b(\d{4})-(\d\d?)-(\d\d?)\b", lambda m: (mkdate(int(m[3]), int(m[2]), m[1]), True))
    take(r"\b(\d\d?)[/.\-](\d\d?)[/.\-](\d{4}|\d\d)\b", lambda m: (mkdate(int(m[1]), int(m[2]), m[3]), True))
    take(r"\b(\d\d?)(?:st|nd|rd|th)?\s*(?:of )?" + MR + r"\b" + YR, lambda m: (mkdate(int(m[1]), mon(m[2]), m[3]), bool(m[3])))
    take(r"\b" + MR + r" (?:the )?(\d\d?)(?:st|nd|rd|th)?\b(?! ?(?:months|weeks))" + YR, lambda m: (mkdate(int(m[2]), mon(m[1]), m[3]), bool(m[3])))
    take(r"\b(\d\d?)/(\d\d?)\b", lambda m: (mkdate(int(m[1]), int(m[2]), None), False))
    if loose:
        take(r"\b(?:today|now|immediately|straight away|right away)\b", lambda m: (TODAY, False))
        take(r"\btomorrow\b", lambda m: (TODAY + timedelta(1), False))
        take(r"\byesterday\b", lambda m: (TODAY - timedelta(1), False))
        take(r"\bin " + NR + r" (day|week|month)s?\b", lambda m: (
            add_months(TODAY, num(m[1])) if m[2] == "month" else TODAY + timedelta(num(m[1]) * (7 if m[2] == "week" else 1)), False))
        take(r"\bnext week\b", lambda m: (D(2025, 6, 9), False))
        take(r"\bend of (?:the|this) month\b", lambda m: (D(2025, 6, 30), False))
        take(r"\bnext month\b", lambda m: (D(2025, 7, 1), False))
        take(r"\b(?:next |this )?" + WDR + r"\b", lambda m: (TODAY + timedelta(weekday(m[1]) or 7), False))
        take(r"\bend of " + MR + r"\b", lambda m: (add_months(mkdate(1, mon(m[1]), None), 1) - timedelta(1), False))
        take(r"(?:\b(?:in|from|of|until|till|to|through) |^)" + MR + r"\b", lambda m: (mkdate(1, mon(m[1]), None), False))
        take(r"\b(?:the |on )?(\d\d?)(?:st|nd|rd|th)\b", lambda m: (mkdate(int(m[1]), 6 if int(m[1]) > 2 else 7, None), False))
    return sorted(out, key=lambda x: x[0])

def weekday(s):
    return next(i for i, w in enumerate(WD) if w.startswith(s[:3]))

def day(d):
    return f"{WD[d.weekday()].capitalize()} {d.day} {d.strftime('%B %Y')}"

def plural(n):
    return f"{n} month" + ("" if n == 1 else "s")

class Agent:
    def __init__(self):
        self.reset()

    def reset(self):
        self.db = copy.deepcopy(DATA)
        self.log = []
        self.turn = 0
        self.used, self.ident, self.tried, self.fails = {}, {}, None, 0
        self.member = self.task = None
        self.slots, self.options, self.queue, self.strikes = {}, MENU, [], 0
        self.pending, self.last_q, self.prefix = "menu", "", ""
        self.last_q = self.say("greet", menu=MENUTEXT)
        return self.last_q

    # --- small tools
    def say(self, key, **kw):
        n = self.used[key] = self.used.get(key, -1) + 1
        text = W[key][n % len(W[key])].format(desk=DESK, **kw)
        return re.sub(r"(^|[.!?] )([a-z])", lambda m: m[1] + m[2].upper(), text)

    def guard(self, name, ok):
        self.log.append({"turn": self.turn, "guard": name, "outcome": "passed" if ok else "failed"})
        return ok

    def ask(self, pending, text, options=None):
        self.pending, self.last_q = pending, text
        self.options = options if options is not None else []
        return text

    def close(self, text):
        """Ends a task with its last words and goes on to what else was asked."""
        self.task, self.slots, self.strikes = None, {}, 0
        if self.queue:
            rest = self.queue.pop(0)
            self.ask("more", "", MENU)
            return f"{text}\n{self.say('next')} {self.handle(rest, True)}"
        return f"{text.strip()}{NL if NL in text.strip() else ' '}{self.ask('more', self.say('more'), MENU)}"

    def unclear(self, text=None, **kw):
        """Recovery: an answer that cannot be used is asked again with help; the third time the task is left."""
        self.guard("usable_answer", False)
        self.strikes += 1
        if self.strikes >= 3:
            self.task, self.slots, self.strikes, self.queue = None, {}, 0, []
            return self.ask("menu", self.say("giveup", menu=MENUTEXT), MENU)
        return text or f"{self.say('huh')} {HINT[self.pending]}"

    def good(self):
        self.guard("usable_answer", True)
        self.strikes = 0

    def pick(self, t):
        """The option meant by a number, 'option 2', 'the 2nd one' or 'the last one'; None if there is none."""
        if not self.options: return None
        m = (re.search(r"(?:option|number|no\.|#) ?" + NR + r"\b", t) or re.search(r"\b(\d+)(?:st|nd|rd|th)(?: (?:one|option|class|please)|[ .!]*$)", t)
             or re.match(r"^(?:ok |yes |no |sorry |the |i'?ll (?:take|have) |take |book |i want |i meant |actually |it's |just )*" + NR + r"(?: please| thanks| then| instead)?$", re.sub(r"[,.!?)]+", "", t).strip()))
        if re.search(r"\blast one\b", t): return self.options[-1]
        if m and m[1] not in ("a", "an") and 1 <= num(m[1]) <= len(self.options): return self.options[num(m[1]) - 1]
        return None

    # --- the customer's turn
    def invoke(self, text):
        self.turn += 1
        t = re.sub(r"\s+", " ", str(text).lower().replace("’", "'").replace("‘", "'")).strip()
        t = re.sub(r"\b(" + "|".join(ORDW) + r")\b", lambda m: ORDW[m[1]], t)
        self.prefix = ""
        reply = self.handle(t)
        return f"{self.prefix} {reply}".strip()

    def intent(self, t, strict=False):
        t = re.sub(r"\S+@\S+", "", t)
        t = re.sub(r"(don'?t|do not|not) (want|wish|need|like) to \w+", "", t)
        if re.search(HARD, t) and not (self.pending == "confirm" and re.search(r"^(no,? )?(please )?(cancel|drop) (the|my|that|this) (booking|class)\W*$", t)):
            if not re.search(r"(instead of|rather than|before) (end|cancel|quit|leav)\w*", t): return "scope"
        for kind, p in STRONG_LOOK.items():
            if re.search(p, t): return "lookup:" + kind
        hits = [(m.start(), k) for k, p in TASKS.items() if (m := re.search(p, t))]
        if hits: return min(hits)[1]
        for kind, p in LOOK.items():
            if re.search(p, t): return "lookup:" + kind
        if re.search(r"\b(look (something|it)? ?up|lookup|look up|information|find out)\b", t): return "lookup"
        if re.search(SOFT, t): return "scope"
        if not self.task and not strict:
            if re.search(r"\b" + CW + r"\b|\ba class\b", t): return "book"
            if re.search(r"\b(off[- ]?peak|standard|premium)\b", t): return "plan"
        return None

    def split(self, t):
        """Two wishes in one message: the first is served now, the second kept."""
        groups = []
        for part in re.split(r"\b(?:and then|and also|and|then|also|after that)\b|[.;!?] ", t):
            i = self.intent(part, True)
            i = i.split(":")[0] if i and i != "scope" else None
            if groups and (not i or not groups[-1][0] or groups[-1][0] == i): groups[-1] = (groups[-1][0] or i, groups[-1][1] + " and " + part)
            else: groups.append((i, part))
        return [g[1].strip() for g in groups] if len([g for g in groups if g[0]]) > 1 else [t]

    def handle(self, t, queued=False):
        got_id = self.note_identity(t)
        if not re.search(r"[a-z0-9👍👎]", t): return self.unclear()
        if re.search(r"^(what|pardon|sorry|repeat( that)?|say( that)? again|come again|help|huh)\W*$", t):
            return f"{HINT[self.pending]} {self.say('back', q=self.last_q)}" if self.task else self.say("menu", menu=MENUTEXT)
        if re.match(DROP, t) and (self.task or "menu" in t or "back" in t or "mind" in t):
            self.queue = []
            head = self.say("aside", task=TASKNAME[self.task]) if self.task else ""
            if self.pending == "confirm": self.guard("clear_yes", False)
            self.task, self.slots, self.strikes = None, {}, 0
            return f"{head} {self.ask('menu', self.say('menu', menu=MENUTEXT), MENU)}".strip()
        if not self.task and re.search(r"\b(bye|goodbye|see you|that'?s (all|it|everything)|that is all|nothing else|i'?m done|all done|all set|i'?m good)\b|^(thank you|thanks|cheers|no,? thank)[^?]*$", t) and not self.intent(t):
            return self.ask("menu", self.say("bye"), MENU)
        parts = [t] if queued else self.split(t)
        if len(parts) > 1: t, self.queue = parts[0], parts[1:]
        want = self.intent(t)
        if want == "scope":
            self.guard("in_scope", False)
            head = self.say("scope")
            return f"{head} {self.say('back', q=self.last_q)}" if self.task else f"{head} {self.ask('more', self.say('scope_menu'), MENU)}"
        kind = None
        if want and want.startswith("lookup"): want, _, kind = want.partition(":")
        if self.task == "book" and kind == "timetable" and self.pending != "identity":
            self.guard("in_scope", True)
            self.slots = {}
            self.fill(t)
            return self.advance() if self.slots else self.ask_class("ask_class", list(self.db["classes"]))
        if kind and self.task and self.task != "lookup" and (self.member or kind in ("timetable", "prices")):
            self.guard("in_scope", True)                      # a question in between
            return f"{self.look(kind, t)[0]}\n{self.say('back', q=self.last_q)}"
        if want and want != self.task or (want == "lookup" and kind):
            head = self.say("aside", task=TASKNAME[self.task]) + " " if self.task and self.task != want else ""
            return head + self.begin(want, t, kind)
        if self.task is None:
            picked = self.pick(t)
            if picked:
                self.good()
                return self.begin(picked if picked in MENU else "book", t, keep=picked)
            if self.pending == "more" and yesno(t) is not None:
                self.good()
                key = "menu" if yesno(t) else "bye"
                return self.ask("menu", self.say(key, **({"menu": MENUTEXT} if key == "menu" else {})), MENU)
            if self.pending == "timetable" and yesno(t) is not None:
                self.good()
                return self.begin("book", t, keep=self.options[0] if len(self.options) == 1 else None) if yesno(t) else self.ask("more", self.say("more"), MENU)
            if re.search(r"^(hi|hello|hey|good (morning|afternoon|evening)|hiya)\b", t) and not got_id:
                return f"{self.say('hello')} {self.ask('menu', self.say('menu', menu=MENUTEXT), MENU)}"
            if got_id:
                self.good()
                return self.identify() or self.ask("more", self.say("menu", menu=MENUTEXT), MENU)
            return self.unclear()
        return self.go_on(t, got_id)

    def begin(self, task, t, kind=None, keep=None):
        self.guard("in_scope", True)
        pool = self.options if self.pending in ("timetable", "class") else []
        self.options = pool
        self.task, self.slots, self.strikes, self.pending = task, {}, 0, None
        if keep in self.db["classes"]: self.slots["class"] = keep
        elif keep is None: self.fill(t)
        if kind:
            self.slots["kind"] = kind
            self.slots["text"] = t
        return self.advance()

    def go_on(self, t, got_id):
        before = copy.deepcopy(self.slots)
        if not self.member and got_id and self.pending != "identity":      # another caller in the middle of a task
            self.slots.pop("start_ok", None), self.slots.pop("months_ok", None)
            self.fill(t)
            return self.advance()
        if self.pending == "confirm":
            self.fill(t)
            answer = yesno(t)
            if self.slots != before:
                self.guard("clear_yes", False)
                self.good()
                return self.advance()
            self.guard("clear_yes", answer is True)
            if answer is None: return self.unclear()
            self.good()
            if answer: return self.perform()
            for word, slots in ((r"date|day|start", ["start"]), (r"months?|long|length", ["months"]), (r"class|time", ["class", "crit", "found"]), (r"plan", ["plans", "dir"])):
                if re.search(r"\b(?:wrong|different|another|other|change the|not the|not that) ?(?:" + word + r")\b", t) and slots[0] in self.slots | {"class": 1}:
                    for s in slots: self.slots.pop(s, None)
                    return self.advance()
            if self.task == "book" and re.search(r"not (that|this) one|(another|different) one|something else", t):
                self.slots.clear()
                return self.advance()
            return self.close(self.say("nothing"))
        if self.pending == "identity" and not got_id and re.search(r"\b(won'?t|refuse|rather not|not (telling|giving)|none of your|don'?t want to (say|give|tell))\b", t):
            self.guard("identity_match", False)
            return self.close(self.say("nothing"))
        if self.pending == "lookup" and (k := self.pick(t) or next((k for k, p in zip(LOOKS, ("timetable|class", "book", "member|\\bplan\\b|account|detail|freez", "pric|cost|plans")) if re.search(p, t)), None)):
            self.slots.update(kind=k, text="")
        else: self.fill(t)
        if self.slots == before and not got_id:
            if self.pending in ("class", "plan", "start", "months") and yesno(t) is False:
                self.good()
                return self.close(self.say("nothing"))
            if self.pending == "class" and yesno(t) and len(self.options) == 1: self.slots["class"] = self.options[0]
            else: return self.unclear()
        if not (self.slots.get("crit") and not self.slots.get("found")): self.good()
        return self.advance()

    # --- understanding values
    def note_identity(self, t):
        """Takes member number, email and date of birth out of a message."""
        new = {}
        rest = t
        for a, b, d, year in reversed(dates(t)):
            if (d is None and self.pending == "identity") or (d and year and d.year < 2013):
                if d: new["dob"] = d
            rest = rest[:a] + " " * (b - a) + rest[b:]
        m = re.search(r"[\w.+-]+@[\w-]+\.[\w.]*\w", rest)
        n = re.search(r"\bhf[- ]?(\d{3,6})\b|\b(?:number|member|membership|id|no\.?|card)\b[^\d]{0,15}(\d{4,6})\b", rest)
        if not n and not self.member: n = re.search(r"\b(\d{3,6})\b" if self.pending == "identity" else r"\b(4\d{3})\b", rest)
        if m or n: new["key"] = m[0] if m else next(g for g in n.groups() if g)
        if self.member:
            me = self.db["members"][self.member]
            if new.get("key") in (None, self.member, me["email"]): return False
            self.member, self.ident, self.tried = None, {}, None     # somebody else now
        changed = any(self.ident.get(k) != v for k, v in new.items())
        self.ident.update(new)
        return changed

    def fill(self, t):
        s = self.slots
        for a, b, d, year in dates(t):                               # a date of birth or an email is no value here
            if d and year and d.year < 2013: t = t[:a] + "~" * (b - a) + t[b:]
        t = re.sub(r"\S+@\S+|\bhf[- ]?\d+", "~", t)
        if self.task == "book":
            p = self.pick(t)
            if p in self.db["classes"]:
                s.update({"class": p, "found": [p]})
                return
            crit = self.criteria(t)
            if crit:
                both = {**s.get("crit", {}), **crit}
                found = self.find(both)
                if not found: both, found = crit, self.find(crit)
                s.update(crit=both, found=found)
                s.pop("class", None)
                if len(found) == 1: s["class"] = found[0]
        elif self.task == "freeze":
            later = False
            for a, b, d, year in dates(t, True):
                ends = re.search(r"(until|till|til|to|through|and back on|back on) (the )?$", t[:a] + " " if t[:a] and t[a - 1] != " " else t[:a]) or re.match(r"(until|till|to|through) ", t[a:b])
                if ends or (self.pending == "months" and not re.search(r"start|from|actually|instead|sorry|make it|begin|no,", t)):
                    s["end"] = d or "bad"
                    s.pop("months", None)
                elif not later: s["start"], later = d or "bad", True
            text = re.sub(r"\bin " + NR + " (months?|weeks?|days?)", "", t)
            m = re.search(r"\b(?:a )?(couple of|-?\d+(?:\.\d+)?|" + NR[1:-1] + r")(?: and a half| more| full| whole)? (month|week|day|year)s?\b", text)
            bare = re.match(r"^(?:just |only |for |say |about |make (?:it|that) |no |actually |yes |ok |i meant |i said |sorry |but )*" + NR + r"(?: please| then| instead)?$", re.sub(r"[,.!?]+", "", t).strip())
            if m:
                n = 2 if m[1] == "couple of" else float(m[1]) if re.match(r"-?[\d.]+$", m[1]) else NUM[m[1]]
                n = n / {"month": 1, "week": 4, "day": 30, "year": 1 / 12}[m[2]] + (0.5 if "and a half" in m[0] else 0)
                s["months"] = n
                s.pop("end", None)
            elif bare and bare[1] not in ("a", "an") and self.pending in ("months", "confirm"):
                s["months"] = num(bare[1])
                s.pop("end", None)
            elif bare and bare[1].isdigit() and self.pending == "start": s["start"] = (dates(f"the {bare[1]}th", True) or [[0, 0, None]])[0][2] or "bad"
        elif self.task == "plan":
            p = self.pick(t) if self.pending == "plan" else None
            u = re.sub(r"\b(not|from|rather than|instead of|off) (the )?" + PLANR, "", t) if not re.search(r"\boff[- ]?peak\b", t) else re.sub(r"\b(not|from|rather than|instead of) (the )?" + PLANR, "", t)
            names = [p] if p else [self.plan_name(x) for x in re.findall(r"\b" + PLANR + r"\b", u)]
            way = "up" if re.search(r"\b(upgrad\w*|higher|better|move up|bigger)\b", t) else "down" if re.search(r"\b(downgrad\w*|cheaper|lower|move down|smaller)\b", t) else None
            if names:
                s["plans"] = names
                s.pop("dir", None)
            elif way: s["dir"] = way

    @staticmethod
    def plan_name(x):
        return "off-peak" if x.startswith("off") or x in ("cheapest", "lowest") else x if x in PLANS else "premium"

    def criteria(self, t):
        c = {}
        t = re.sub(r"\b(?:not|instead of|rather than) (?:the |on )?\w+", "", t)
        words = [w for w in CLASS_WORDS if re.search(r"\b" + w + r"\b", t)]
        if words: c["words"] = words
        if "tomorrow" in t: c["day"] = [D(2025, 6, 3)]
        elif m := re.search(r"\b" + WDR + r"\b", t): c["day"] = [TODAY + timedelta(weekday(m[1]) or 7)]
        elif "weekend" in t: c["day"] = [D(2025, 6, 7), D(2025, 6, 8)]
        elif ds := [d for _, _, d, y in dates(t) if d and d.year > 2013]: c["day"] = ds
        elif m := re.search(r"\bon the (\d\d?)(?:st|nd|rd|th)\b", t): c["day"] = [d for d in [mkdate(int(m[1]), 6, 2025)] if d]
        for w, span in (("morning", (0, 12)), ("lunch", (12, 14)), ("afternoon", (12, 17)), ("evening", (17, 24)), ("after work", (17, 24))):
            if w in t: c["hours"] = span
        m = re.search(r"\b(\d\d?)(?:[:.](\d\d))? ?(am|pm)\b|\b(\d\d?)[:.](\d\d)\b|\bat (\d\d?)\b", t)
        if m:
            h = int(m[1] or m[4] or m[6])
            hs = {h + 12 if h < 12 else 12} if m[3] == "pm" else {h} if m[3] else {h, h + 12}
            c["time"] = (sorted(hs), m[2] or m[5])
        co = [w for w in COACHES if re.search(r"\b" + w + r"(?:'s)?\b", t)]
        if co: c["coach"] = co
        return c

    def find(self, c):
        out = []
        for k, x in self.db["classes"].items():
            h, mi = x["time"].split(":")
            if ("day" in c and x["day"] not in c["day"] or "coach" in c and x["coach"].lower() not in c["coach"]
                    or "hours" in c and not c["hours"][0] <= int(h) < c["hours"][1]
                    or "time" in c and (int(h) not in c["time"][0] or c["time"][1] not in (None, mi))):
                continue
            out.append((k, sum(w in x["words"].split() for w in c.get("words", []))))
        best = max((n for _, n in out), default=0)
        return [k for k, n in out if n == best and (best or "words" not in c)]

    # --- doing the work
    def identify(self):
        """None once the caller is known, otherwise what to say."""
        if self.member: return None
        if self.fails >= 3:
            self.guard("identity_match", False)
            self.queue = []
            return self.close(self.say("locked"))
        if "key" not in self.ident or "dob" not in self.ident:
            key = "ask_key" if "dob" in self.ident else "ask_dob" if "key" in self.ident else "ask_id"
            return self.ask("identity", self.say(key))
        pair = (self.ident["key"], self.ident["dob"])
        if pair == self.tried: return self.ask("identity", self.say("ask_id"))
        who = next((k for k, m in self.db["members"].items() if pair[0] in (k, m["email"]) and m["dob"] == pair[1]), None)
        if self.guard("identity_match", who is not None):
            self.member = who
            self.prefix = self.say("known", name=self.db["members"][who]["name"].split()[0])
            return None
        self.fails, self.tried = self.fails + 1, pair
        if self.fails >= 3:
            self.queue = []
            return self.close(self.say("locked"))
        return self.ask("identity", self.say("bad_id"))

    def advance(self):
        s = self.slots
        if self.task == "lookup":
            if "kind" not in s: return self.ask("lookup", self.say("ask_look"), LOOKS)
            if s["kind"] in ("bookings", "membership") and (r := self.identify()): return r
            text, options = self.look(s["kind"], s.get("text", ""))
            if options and not self.queue:
                self.task, self.slots, self.strikes = None, {}, 0
                return self.ask("timetable", text, options)
            return self.close(text)
        return self.identify() or getattr(self, "adv_" + self.task)(s, self.db["members"][self.member])

    def label(self, k):
        c = self.db["classes"][k]
        return f"{c['name']} with {c['coach']}, {WD[c['day'].weekday()].capitalize()} {c['day'].day} June at {c['time']}"

    def listing(self, keys):
        return "\n".join(f"{i}. {self.label(k)}" + ("" if self.db["classes"][k]["places"] else " (full)") for i, k in enumerate(keys, 1))

    def ask_class(self, key, keys, head="", **kw):
        return f"{head} {self.ask('class', self.say(key, list=self.listing(keys), **kw), keys)}".strip()

    def covered(self, me, c):
        offpeak = c["day"].weekday() < 5 and "09:00" <= c["time"] < "16:00"
        return not c["reformer"] and (offpeak or me["plan"] == "standard") or me["plan"] == "premium"

    def adv_book(self, s, me):
        k, every = s.get("class"), list(self.db["classes"])
        if not k:
            if "crit" not in s: return self.ask_class("ask_class", every)
            if len(s["found"]) > 1: return self.ask_class("some_class", s["found"])
            s.pop("crit")
            text = self.ask_class("no_class", every)
            return self.unclear(text)
        if k in me["bookings"]:
            s.clear()
            return self.unclear(self.ask("class", self.say("have_class", cls=self.label(k)), every))
        c = self.db["classes"][k]
        ice = next((e for a, e in me["freezes"] if a <= c["day"] < e), None)
        cls = self.label(k)
        if not self.guard("plan_covers_class", ice is None and self.covered(me, c)):
            why = self.say("frozen", cls=cls, end=day(ice)) if ice else self.say("not_covered", cls=cls, plan=me["plan"], cover=PLANS[me["plan"]][1])
        elif not self.guard("induction_first", me["induction"] or not c["equipment"]): why = self.say("induction", cls=cls)
        elif not self.guard("place_and_quota", c["places"] > 0 and len(me["bookings"]) < 3): why = self.say("full" if not c["places"] else "three", cls=cls)
        else: return self.ask("confirm", self.say("conf_book", cls=cls), self.options)
        s.clear()
        open_ = [x for x, y in self.db["classes"].items() if y["places"] and x not in me["bookings"] and self.covered(me, y) and len(me["bookings"]) < 3
                 and (me["induction"] or not y["equipment"]) and not any(a <= y["day"] < e for a, e in me["freezes"])]
        return self.ask_class("other_class", open_, why) if open_ else self.close(why)

    def adv_freeze(self, s, me):
        left, last = 3 - me["used"], day(TODAY + timedelta(90))
        if left <= 0:
            self.guard("freeze_allowance", False)
            return self.close(self.say("no_months"))
        start = s.get("start")
        if start is None: return self.ask("start", self.say("ask_start", today=day(TODAY), last=last))
        ice = max((e for _, e in me["freezes"]), default=None)
        if s.get("start_ok") != start:
            if not self.guard("freeze_start_valid", start != "bad" and TODAY < start <= TODAY + timedelta(90) and not (ice and start < ice)):
                s.pop("start")
                if start == "bad": return self.ask("start", self.say("bad_date"))
                early = ice and TODAY < start < ice
                return self.ask("start", self.say("overlap", end=day(ice)) if early else self.say("bad_start", when=day(start), last=last))
            s["start_ok"] = start
        if "end" in s and "months" not in s:
            end = s["end"]
            s["months"] = next((n for n in range(1, 13) if end != "bad" and end in (add_months(start, n), add_months(start, n) - timedelta(1))), 0.5)
        if "months" not in s: return self.ask("months", self.say("ask_months", left=plural(left)))
        n = s["months"]
        if s.get("months_ok") != n:
            if not self.guard("freeze_allowance", n == int(n) and 1 <= n <= left):
                s.pop("months")
                s.pop("end", None)
                return self.ask("months", self.say("bad_months", left=left))
            s["months_ok"] = n
        s["until"] = add_months(start, int(n))
        gone = [k for k in me["bookings"] if start <= self.db["classes"][k]["day"] < s["until"]]
        rel = f" Your place in {'; '.join(map(self.label, gone))} would be released." if gone else ""
        return self.ask("confirm", self.say("conf_freeze", start=day(start), end=day(s["until"]), n=plural(int(n)), rel=rel))

    def adv_plan(self, s, me):
        cur = me["plan"]
        others = [p for p in ORDER if p != cur]
        rows = "\n".join(f"{i}. {p.capitalize()}, £{PLANS[p][0]} a month: {PLANS[p][1]}" for i, p in enumerate(others, 1))
        names = s.get("plans", [])
        names = [p for p in names if p != cur] or names if len(names) > 1 else names
        if not names and "dir" in s:
            i = ORDER.index(cur)
            names = ORDER[i + 1:] if s["dir"] == "up" else ORDER[:i]
            if not names:
                s.pop("dir")
                return self.unclear(self.ask("plan", self.say("none_that_way", plan=cur, list=rows), others))
        if len(set(names)) != 1:
            s.pop("plans", None)
            return self.ask("plan", self.say("ask_plan", plan=cur, list=rows), others)
        new = names[0]
        if new == cur:
            s.pop("plans", None)
            return self.unclear(self.ask("plan", self.say("same_plan", plan=cur, list=rows), others))
        if not self.guard("term_for_downgrade", ORDER.index(new) > ORDER.index(cur) or me["term"] < TODAY):
            return self.close(self.say("term", new=new, term=day(me["term"])))
        s["plans"] = [new]
        return self.ask("confirm", self.say("conf_plan", old=cur, new=new, fee=PLANS[new][0]))

    def perform(self):
        s, me = self.slots, self.db["members"][self.member]
        if self.task == "book":
            me["bookings"].append(s["class"])
            self.db["classes"][s["class"]]["places"] -= 1
            return self.close(self.say("done_book", cls=self.label(s["class"])))
        if self.task == "freeze":
            me["freezes"].append((s["start"], s["until"]))
            me["used"] += int(s["months"])
            for k in [k for k in me["bookings"] if s["start"] <= self.db["classes"][k]["day"] < s["until"]]:
                me["bookings"].remove(k)
                self.db["classes"][k]["places"] += 1
            return self.close(self.say("done_freeze", start=day(s["start"]), end=day(s["until"])))
        me["plan"] = s["plans"][0]
        return self.close(self.say("done_plan", new=me["plan"], fee=PLANS[me["plan"]][0]))

    def look(self, kind, t):
        """(text, options) of a look-up."""
        if kind == "prices": return self.say("prices", list="\n".join(f"- {p.capitalize()}: £{f} a month, {c}" for p, (f, c) in PLANS.items())), None
        if kind == "timetable":
            keys = self.find(self.criteria(t)) if self.criteria(t) else list(self.db["classes"])
            return (self.say("timetable", list=self.listing(keys)), keys) if keys else (self.say("no_class", list=self.listing(self.db["classes"])), list(self.db["classes"]))
        me = self.db["members"][self.member]
        if kind == "bookings":
            return (self.say("bookings", list="\n".join("- " + self.label(k) for k in me["bookings"])) + "\n" if me["bookings"] else self.say("no_bookings")), None
        fr = "".join(f" Frozen from {day(a)} to {day(e)}." for a, e in me["freezes"])
        return self.say("membership", name=me["name"].split()[0], plan=me["plan"], fee=PLANS[me["plan"]][0], term=day(me["term"]),
                        ind="done" if me["induction"] else "still to do", left=3 - me["used"], fr=fr), None
