"""Small agents of several trades for the tests of the customer's rules; each talks in its own way.

An agent has `reset` and `invoke`; `log` holds what it really did (`done:...`, `gate:...`, `refused:...`), for tests only.
"""

from __future__ import annotations

import re


class Library:
    """Slot by slot, plain and polite: loans are renewed, books reserved, fines paid."""

    services = ("renew", "reserve", "fine")
    seeds = (
        {"name": "Ann Lee", "member_number": "RL-20417", "birth_date": "1988-03-14"},
        {"name": "Omar Haddad", "member_number": "RL-33108", "birth_date": "1975-11-02"},
    )
    loans = {"RL-20417": ["The Sea", "Dublin Walks"], "RL-33108": ["Dune"]}

    def __init__(self):
        self.log: list[str] = []
        self.reset()

    def reset(self) -> str:
        self.member, self.task, self.stage, self.title = "", "", "", ""
        return (
            "Good morning, this is the desk of Riverside Library. I can renew loans, reserve books and take payments of "
            "fines. How may I help?"
        )

    def invoke(self, text: str) -> str:
        low = text.lower()
        if self.stage == "sure":
            if re.search(r"\b(yes|sure|ok|go ahead)\b", low):
                self.log.append(f"done:{self.task}")
                done = {"renew": f'"{self.title}" is renewed until 24 June.', "reserve": "I have reserved it for you.",
                        "fine": "Thank you, the fine of €3.20 has been paid."}[self.task]  # fmt: skip
                self.stage, self.task = "", ""
                return f"{done} Is there anything else?"
            self.stage, self.task = "", ""
            return "All right, nothing was changed. Anything else I can do?"
        task = next(
            (
                t
                for t, w in (("renew", "renew|extend"), ("reserve", "reserv"), ("fine", "fine|pay"))
                if re.search(w, low)
            ),
            "",
        )
        if re.search(r"what (do|info)|need", low) and "?" in low and task:
            return "For that I need your membership number and your date of birth."
        if task and not self.task:
            self.task = task
        if not self.task:
            if re.search(r"no|that's all|thank", low) and "what" not in low:
                return "You're welcome. Goodbye!"
            return "We can renew a loan, reserve a book, or settle a fine here at the desk. What shall it be?"
        if not self.member:
            m = re.search(r"RL-\d{5}", text)
            if not m:
                return "Could I have your membership number, please?"
            if m.group() not in self.loans:
                return "I cannot find that membership number. It has two letters and five digits."
            self.member, self.stage = m.group(), "born"
            return "Thank you. And your date of birth, for verification? (DD/MM/YYYY)"
        if self.stage == "born":
            seed = next(s for s in self.seeds if s["member_number"] == self.member)
            y, mth, d = seed["birth_date"].split("-")
            if f"{d}/{mth}/{y}" not in text:
                return "That does not match our records. Please give it as DD/MM/YYYY."
            self.stage = ""
        if self.task == "fine":
            if self.member == "RL-33108":
                self.log.append("refused:fine")
                self.task = ""
                return "There is no fine on your account, so nothing can be paid. Anything else?"
            self.stage = "sure"
            self.log.append("gate:fine")
            return "You owe €3.20 for a late return. Shall I charge it to the card we have on file?"
        titles = self.loans[self.member] if self.task == "renew" else ["Normal People", "Milkman"]
        title = next((t for t in titles if t.lower() in low), "")
        if not title:
            if self.task == "renew":
                return f"You have {len(titles)} book(s) out: {', '.join(titles)}. Which one is to be renewed?"
            return (
                "Which title would you like? On the shelf right now there are, for example, Normal People or Milkman."
            )
        self.title, self.stage = title, "sure"
        self.log.append(f"gate:{self.task}")
        verb = "renew" if self.task == "renew" else "put a hold on"
        return f'So I will {verb} "{title}" for you. Is that all right?'


class Clinic:
    """Numbered menus and typed commands."""

    services = ("book", "cancel", "prices")
    seeds = (
        {"patient": "Maria Silva", "phone": "+353 87 555 0110", "patient_id": "C8841"},
        {"patient": "Tom Byrne", "phone": "+353 86 555 0199", "patient_id": "C9027"},
    )

    def __init__(self):
        self.log: list[str] = []
        self.reset()

    def reset(self) -> str:
        self.stage, self.task, self.who, self.treatment, self.slot = "menu", "", "", "", ""
        return f"Welcome to Smile Dental.\n{self.menu()}"

    def menu(self) -> str:
        return "Please reply with a number:\n1. Book an appointment\n2. Cancel an appointment\n3. Prices\n4. Speak to the front desk"

    def invoke(self, text: str) -> str:
        word = text.strip().upper().rstrip(".!")
        if self.stage == "menu":
            if word not in ("1", "2", "3", "4"):
                return f"Sorry, that is not an option.\n{self.menu()}"
            if word == "4":
                return "The front desk opens at 9. Type MENU to return to the menu."
            if word == "3":
                self.log.append("done:prices")
                return f"Check-up: €60\nHygienist: €80\nWhitening: €250\n\n{self.menu()}"
            self.task, self.stage = ("book" if word == "1" else "cancel"), "phone"
            return "Enter the last 4 digits of your mobile number."
        if self.stage == "phone":
            self.who = next((s["patient_id"] for s in self.seeds if s["phone"][-4:] == text.strip()[-4:]), "")
            if not self.who:
                return "Those digits are not in our system. Please enter only the last 4 digits, e.g. 1234."
            if self.task == "cancel":
                if self.who == "C9027":
                    self.log.append("refused:cancel")
                    self.stage = "menu"
                    return f"Your only visit is within 24 hours. It can no longer be cancelled online.\n{self.menu()}"
                self.stage = "sure"
                self.log.append("gate:cancel")
                return "You have a check-up on 12 May at 09:30. Reply YES to cancel it or NO to keep it."
            self.stage = "treatment"
            return "What do you need?\n1) Check-up\n2) Hygienist\n3) Whitening\nReply with 1, 2 or 3."
        if self.stage == "treatment":
            names = {"1": "Check-up", "2": "Hygienist", "3": "Whitening"}
            if word not in names:
                return "Please answer 1, 2 or 3."
            self.treatment, self.stage = names[word], "slot"
            return f"{names[word]}: we have these times.\n1) Mon 12 May 09:30\n2) Tue 13 May 14:00\nWhich one? (1/2)"
        if self.stage == "slot":
            if word not in ("1", "2"):
                return "Please answer 1 or 2."
            self.stage = "sure"
            self.log.append("gate:book")
            return f"{self.treatment} on {'Mon 12 May' if word == '1' else 'Tue 13 May'}. Type CONFIRM to book or MENU to start again."
        if self.stage == "sure":
            wanted = "CONFIRM" if self.task == "book" else "YES"
            if word != wanted:
                return f"Please type {wanted} to continue."
            self.log.append(f"done:{self.task}")
            self.stage = "end"
            return (
                "Your appointment is booked. Reference SD-5521."
                if self.task == "book"
                else "Your appointment has been cancelled."
            )
        self.stage = "menu"
        return self.menu()


class Parcels:
    """All at once, in markdown, with an emoji: tracking, another delivery day, a claim for damage."""

    services = ("track", "redeliver", "claim")
    seeds = (
        {"tracking_number": "PP482913377IE", "postcode": "D08 X4Y7", "recipient": "Grace Okafor"},
        {"tracking_number": "PP600271845IE", "postcode": "T12 R5CX", "recipient": "Jan Kowalski"},
    )
    delivered = {"PP482913377IE": False, "PP600271845IE": True}

    def __init__(self):
        self.log: list[str] = []
        self.reset()

    def reset(self) -> str:
        self.task, self.parcel, self.ready, self.day, self.damage = "", "", False, "", ""
        return ""

    def invoke(self, text: str) -> str:
        low = text.lower()
        if self.ready:
            self.ready = False
            if "yes" in low or "confirm" in low:
                self.log.append(f"done:{self.task}")
                task, self.task = self.task, ""
                if task == "redeliver":
                    return f"**All done!** Your parcel now arrives on {self.day}. 📦\n\nNeed a hand with anything else?"
                return "**Claim filed.** You'll hear from our team within 5 working days.\n\nNeed a hand with anything else?"
            return "No worries, I've left everything as it was. Need a hand with anything else?"
        for task, words in (
            ("track", r"track\b|where is|status"),
            ("redeliver", r"delivery\b(?! postcode)|rearrang"),
            ("claim", "damag|claim|broken"),
        ):
            if not self.task and re.search(words, low):
                self.task = task
        if not self.task:
            if re.search(r"\b(no|thanks|thank you)\b", low) and "?" not in low:
                return "Thanks for choosing ParcelPost! Bye for now 👋"
            return (
                "Hey there! 👋 I'm the ParcelPost assistant. Here are the things I'm able to do:\n\n- **Track** a parcel\n"
                "- **Rearrange** a delivery\n- **Open a claim** for a damaged item\n\nJust tell me what you need!"
            )
        m = re.search(r"\b[A-Z]{2}\d{9}[A-Z]{2}\b", text)
        if m and m.group() in self.delivered:
            code = next(s["postcode"] for s in self.seeds if s["tracking_number"] == m.group())
            if code.lower() in low:
                self.parcel = m.group()
            else:
                return f"Hmm, I need the delivery postcode too before I can open the file for {m.group()}."
        elif m:
            return "I can't see a parcel with that number. It should start with PP and end in IE – could you check it?"
        if not self.parcel:
            return (
                "Happy to help with that! To pull up the details, please send me the following in one message:\n\n"
                "- your tracking number (13 characters)\n- the delivery postcode"
            )
        if self.task == "track":
            self.task = ""
            self.log.append("done:track")
            where = (
                "was delivered yesterday"
                if self.delivered[self.parcel]
                else "is at our Dublin depot and goes out tomorrow"
            )
            return f"Your parcel **{self.parcel}** {where}. Need a hand with anything else?"
        if self.task == "redeliver":
            if self.delivered[self.parcel]:
                self.log.append("refused:redeliver")
                self.task = ""
                return (
                    "Unfortunately this one was handed over already, so a new delivery date can't be set. I could open a claim "
                    "for you instead if something is wrong with it – would you like that?"
                )
            found = re.search(r"\b(1[4-6]) (?:march)\b", low)
            if not found:
                return "Great, found it. We have vans in your area on **14 March**, **15 March** and **16 March**. What day suits you best?"
            self.day, self.ready = f"{found.group(1)} March", True
            self.log.append("gate:redeliver")
            return f"Just to double-check: new delivery on **{self.day}** for parcel {self.parcel}, no extra cost. Are you happy for me to go ahead?"
        if not self.damage:
            if "damage" in low and not m or re.search(r"crack|broken|wet|torn|work", low):
                self.damage = text
            else:
                return "Oh no, sorry to hear that! Could you describe what's wrong with the item?"
        self.ready = True
        self.log.append("gate:claim")
        return (
            f"Thanks. I'm about to submit a damage claim for {self.parcel}: “{self.damage[:60]}”. Shall I send it off?"
        )


class PhoneShop:
    """Chatty, like a language model: upgrades of a plan, repairs, trade-ins; sells insurance along the way."""

    services = ("plan", "repair", "trade")
    seeds = (
        {"full_name": "Priya Nair", "email": "priya.nair@example.com", "account_no": "778201"},
        {"full_name": "Lukas Weber", "email": "lukas.weber@example.com", "account_no": "778455"},
    )

    def __init__(self):
        self.log: list[str] = []
        self.reset()

    def reset(self) -> str:
        self.task, self.who, self.stage, self.kept = "", "", "", {}
        return (
            "Hi! Thanks for reaching out to Bluewave Mobile. I'm Robin, your virtual assistant. Whether you'd like to switch to a "
            "different plan, have a device repaired, or trade in an old handset, I'm here for you. What brings you here today?"
        )

    def invoke(self, text: str) -> str:
        low = text.lower()
        if self.stage == "insurance":
            self.stage = "sure"
            self.log.append(f"gate:{self.task}")
            return f"No problem at all. So, to sum up: {self.summary()}. Does everything look right, and may I place this now?"
        if self.stage == "sure":
            self.stage = ""
            if re.search(r"\b(yes|right|sure|correct|go ahead)\b", low):
                self.log.append(f"done:{self.task}")
                self.task = ""
                return "Wonderful, that's all set up! You'll get an e-mail with the details shortly. Can I do anything else for you today?"
            return "Of course, I haven't changed anything. What would you like to adjust?"
        for task, words in (("plan", r"\bplan\b"), ("repair", "repair"), ("trade", "trade")):
            if not self.task and re.search(words, low):
                self.task = task
        if not self.task:
            if re.search(r"\b(no|that's all|that was all|everything)\b", low):
                return "It was a pleasure. Have a lovely day!"
            return "I'd be glad to help! I look after plan changes, repairs and trade-ins. Could you tell me a bit more about what you're after?"
        if not self.who:
            seed = next((s for s in self.seeds if s["email"] in low or s["account_no"] in low), None)
            if not seed:
                if "@" in low:
                    return (
                        "Hmm, that e-mail address isn't registered with us. Is there another one you might have used?"
                    )
                return "Sure thing! So I can find you in our system, what's the e-mail address or account number on your account?"
            self.who = seed["full_name"]
        if self.task == "plan":
            if "plan" not in self.kept:
                m = re.search(r"flex|family|unlimited|\bs\b|\bm\b|\bl\b", low) if self.kept.get("asked") else None
                self.kept["asked"] = "x"
                if not m:
                    return (
                        f"Thanks, {self.who.split()[0]}! You're on Basic at the moment. You could move to **Flex** (€15/month, 20 GB), "
                        "**Family** (€28/month, 60 GB) or **Unlimited** (€35/month). Which of those appeals to you?"
                    )
                self.kept["plan"] = m.group()
            self.stage = "insurance"
            return "Lovely choice. Would you also like to add screen insurance for €4 a month?"
        if self.task == "trade":
            if self.who == "Lukas Weber":
                self.log.append("refused:trade")
                self.task = ""
                return "I've checked, and I'm afraid your contract has another 14 months to run, so a trade-in isn't available to you yet. I'm sorry about that!"
            if "model" not in self.kept:
                if not self.kept.get("asked"):
                    self.kept["asked"] = "x"
                    return "Great! Which phone would you like to trade in, and roughly how old is it?"
                self.kept["model"] = text
            self.stage = "sure"
            self.log.append("gate:trade")
            return "For that one we can offer you €120 towards a new phone. Would you like me to register the trade-in?"
        if "fault" not in self.kept:
            if not self.kept.get("asked"):
                self.kept["asked"] = "x"
                return "Oh dear. What exactly seems to be the problem with it?"
            self.kept["fault"] = text
        if "shop" not in self.kept:
            m = re.search(r"cork|galway|dublin", low)
            if not m:
                return "Got it. We have workshops in Dublin, Cork and Galway – where would you want to drop it off?"
            self.kept["shop"] = m.group()
        self.stage = "insurance"
        return "And would you like a loan phone in the meantime? It's €10 extra."

    def summary(self) -> str:
        return ", ".join(f"{k}: {v}" for k, v in self.kept.items() if k != "asked") or self.task


class Hotel:
    """Dates, guests and rooms; offers what is free instead of what is not; wants codes in a fixed shape."""

    services = ("book", "cancel", "breakfast")
    seeds = (
        {"guest_name": "Elena Rossi", "booking_ref": "HB-71023", "email": "elena@example.org"},
        {"guest_name": "Noah Fischer", "booking_ref": "HB-71388", "email": "noah@example.org"},
    )

    def __init__(self):
        self.log: list[str] = []
        self.reset()

    def reset(self) -> str:
        self.task, self.kept, self.sure, self.full = "", {}, False, False
        return "Harbour Hotel reservations, good afternoon. Today is 3 June 2025. Are you calling about a new booking or an existing one?"

    def invoke(self, text: str) -> str:
        low = text.lower()
        if self.sure:
            self.sure = False
            if re.match(r"\W*(yes|please|sure|ok|correct)", low):
                self.log.append(f"done:{self.task}")
                task, self.task, self.kept = self.task, "", {}
                return {"book": "Perfect, you are booked in; your reference is HB-71999.", "cancel": "That is cancelled now, free of charge.",
                        "breakfast": "Breakfast has been added to your stay."}[task]  # fmt: skip
            return "Very well, I leave it. Anything else?"
        if not self.task:
            if "cancel" in low:
                self.task = "cancel"
            elif "breakfast" in low:
                self.task = "breakfast"
            elif re.search(r"new|book|room|stay", low) and "existing" not in low:
                self.task = "book"
            elif "existing" in low or "my booking" in low:
                return "Of course. For existing bookings I can cancel a stay or add breakfast. Which would you like?"
            elif re.search(r"\b(no|thank|bye)", low) and "?" not in low:
                return "Thank you for calling. Goodbye."
            else:
                return (
                    "I take new bookings, and for existing ones I can cancel a stay or add breakfast. What is it about?"
                )
        if self.task == "book":
            return self.book(text, low)
        if "ref" not in self.kept:
            m = re.search(r"HB-\d{5}", text)
            if not m:
                return "Please tell me the booking reference; it is HB, a dash and five digits."
            if m.group() not in [s["booking_ref"] for s in self.seeds]:
                return f"There is no booking {m.group()}. Would you check the reference again?"
            self.kept["ref"] = m.group()
        if "name" not in self.kept:
            seed = next(s for s in self.seeds if s["booking_ref"] == self.kept["ref"])
            if seed["guest_name"].split()[-1].lower() not in low:
                return "And the surname on the booking?"
            self.kept["name"] = seed["guest_name"]
        if self.task == "cancel" and self.kept["ref"] == "HB-71388":
            self.log.append("refused:cancel")
            self.task = ""
            return "That is a saver rate, which cannot be cancelled or refunded, I regret."
        self.sure = True
        self.log.append(f"gate:{self.task}")
        if self.task == "cancel":
            return f"{self.kept['name']}, two nights from 20 June. Cancelling is final. Do you really want to cancel?"
        return "Breakfast is €18 per person and day. May I add it to the booking?"

    def book(self, text: str, low: str) -> str:
        if "day" not in self.kept:
            m = re.search(r"\b(\d{1,2}) (june|july)|\b2025-0[67]-(\d\d)", low)
            if self.full and not m and re.match(r"\W*(yes|ok|fine)", low):
                self.kept["day"] = "21 june"
                return "Good. For how many nights?"
            if not m:
                return "With pleasure. On what date would you arrive?"
            if not self.full and m.group() != "21 june":
                self.full = True
                return f"We are full on {m.group()}, I am sorry. The nearest free night would be 21 June. Would that suit you?"
            self.kept["day"] = m.group()
        if "nights" not in self.kept:
            m = re.search(r"\b([1-9])\b", re.sub(r"\d+ (june|july)|2025-\S+", "", low))
            if not m:
                return "For how many nights?"
            if int(m.group(1)) < 2:
                return "At weekends the minimum is 2 nights. How many may I put down?"
            self.kept["nights"] = m.group(1)
            return "And how many people will be staying?"
        if "people" not in self.kept:
            m = re.search(r"\b([1-9])\b|\bone|two|three", low)
            if not m:
                return "How many guests, please? Just the number."
            self.kept["people"] = m.group()
            return "Under what name shall I put it?"
        if "name" not in self.kept:
            if not any(s["guest_name"].lower() in low for s in self.seeds):
                return "I need first and last name, please."
            self.kept["name"] = text
        self.sure = True
        self.log.append("gate:book")
        return f"A double room from {self.kept['day']}, {self.kept['nights']} nights, {self.kept['people']} guests, €120 a night. Shall I book it?"


class Energy:
    """A form in a chat: one field at a time with a step counter, strict about shapes."""

    services = ("reading", "tariff", "move")
    seeds = (
        {"contract_number": "KE-4471-09", "surname": "Moreau", "zip": "75011"},
        {"contract_number": "KE-5820-33", "surname": "Dubois", "zip": "69003"},
    )

    def __init__(self):
        self.log: list[str] = []
        self.reset()

    def reset(self) -> str:
        self.task, self.who, self.stage, self.value = "", None, "contract", ""
        return (
            "KlarEnergie customer service (automated). You can submit a meter reading, change your tariff, or tell us that you "
            "are moving house. Please state your concern."
        )

    def invoke(self, text: str) -> str:
        low = text.lower().strip()
        if not self.task:
            if re.search(r"what|which|how|need", low) and "?" in low and not re.search(r"can you help me to", low):
                return "Submitting a reading requires your contract number and the surname of the contract holder. The same goes for all other concerns."
            self.task = next(
                (t for t, w in (("reading", "reading"), ("tariff", "tariff"), ("move", "mov")) if w in low), ""
            )
            if not self.task:
                return "Your message was not understood. Possible concerns: meter reading, tariff, moving house."
        if self.stage == "contract":
            m = re.search(r"KE-\d{4}-\d\d", text)
            self.who = next((s for s in self.seeds if m and s["contract_number"] == m.group()), None)
            if m and not self.who:
                return "This contract number is unknown. Please verify the number on your bill."
            if not m:
                return "Step 1 of 3. Contract number (format KE-0000-00):"
            self.stage = "surname"
            return "Step 2 of 3. Surname of the contract holder:"
        if self.stage == "surname":
            if self.who["surname"].lower() not in low:
                return "The surname does not match the contract. Please re-enter."
            self.stage = "value"
            if self.task == "tariff" and self.who["surname"] == "Dubois":
                self.log.append("refused:tariff")
                self.task, self.stage = "", "contract"
                return "A change of tariff is only possible once per year. The last change was in February. Your request has been declined."
            return {
                "reading": "Step 3 of 3. Please enter the meter reading in kWh, digits only. The previous reading was 18,204.",
                "tariff": "Step 3 of 3. Available tariffs: Basic, Green, Night. Please name the tariff you want.",
                "move": "Step 3 of 3. On which day do you move out? (DD.MM.YYYY)",
            }[self.task]
        if self.stage == "value":
            if self.task == "reading":
                m = re.search(r"\d{5,6}", low.replace(",", ""))
                if not m:
                    return "Only digits are accepted, for example 18350."
                if int(m.group()) < 18204:
                    return "The reading must not be lower than the previous one (18,204)."
                self.value = m.group() + " kWh"
            elif self.task == "tariff":
                m = re.search("basic|green|night", low)
                if not m:
                    return "Please name one of: Basic, Green, Night."
                self.value = m.group().title()
            else:
                m = re.search(r"\d\d\.\d\d\.\d{4}", low)
                if not m:
                    return "The date was not recognised. Format: DD.MM.YYYY."
                self.value = m.group()
            self.stage = "sure"
            self.log.append(f"gate:{self.task}")
            return f"Summary: {self.task} – {self.value}. The entry becomes binding. Do you agree? (yes/no)"
        if re.match(r"\W*(yes|agree)", low):
            self.log.append(f"done:{self.task}")
            self.task, self.stage = "", "contract"
            return "Thank you. Your data were transmitted successfully. Further concerns?"
        self.task, self.stage = "", "contract"
        return "The procedure was aborted."


class Theatre:
    """An effusive assistant that asks two things at once, suggests, and sums up before it acts."""

    services = ("buy", "exchange", "gift")
    seeds = (
        {"name": "Ines Carvalho", "order_id": "T-90211", "email": "ines@example.net"},
        {"name": "Bruno Keller", "order_id": "T-90377", "email": "bruno@example.net"},
    )

    def __init__(self):
        self.log: list[str] = []
        self.reset()

    def reset(self) -> str:
        self.task, self.kept = "", {}
        return "Hello and welcome to the Lyric Theatre! 🎭 How can I make your day?"

    def invoke(self, text: str) -> str:
        low, kept = text.lower(), self.kept
        if kept.get("sure"):
            kept["sure"] = ""
            if re.search(r"\b(yes|sure|please|absolutely)\b", low) and not low.startswith("no"):
                self.log.append(f"done:{self.task}")
                self.task, self.kept = "", {}
                return "Fantastic, I've taken care of it – a confirmation is on its way to your inbox! Anything else on your mind?"
            self.task, self.kept = "", {}
            return "No problem, we'll leave it there. Anything else on your mind?"
        for task, words in (
            ("exchange", "exchang|swap"),
            ("gift", "gift|voucher"),
            ("buy", r"\bbuy|tickets? for|\bbook"),
        ):
            if not self.task and re.search(words, low) and "what" not in low:
                self.task = task
        if not self.task:
            if re.search(r"\b(no|thanks|thank)\b", low) and "?" not in low:
                return "Enjoy the show! Bye!"
            return (
                "Great question! I can help you buy tickets for any of our shows, exchange tickets you already have, or order a gift "
                "voucher for someone special. Which of these sounds right for you?"
            )
        if self.task == "buy":
            if "show" not in kept:
                m = re.search(r"hamlet|macbeth|swan lake", low)
                if not m:
                    return "Wonderful! This week we're showing *Hamlet*, *Macbeth* and *Swan Lake*. Which performance would you love to see, and how many seats do you need?"
                kept["show"] = m.group().title()
            if "seats" not in kept:
                m = re.search(r"\b([1-9])\b|\b(one|two|three|four)\b", low)
                if not m:
                    return f"{kept['show']} it is! How many seats shall I look for?"
                kept["seats"] = m.group()
            if "where" not in kept:
                m = re.search("stalls|balcony", low)
                if not m:
                    return "Lovely. Would you rather sit in the stalls (€45) or on the balcony (€30)?"
                kept["where"] = m.group()
            if "email" not in kept:
                m = re.search(r"\S+@\S+\.\w+", low)
                if not m:
                    return "Superb choice! Where should I e-mail the tickets?"
                kept["email"] = m.group()
            kept["sure"] = "x"
            self.log.append("gate:buy")
            return f"Here's what I have: {kept['seats']} × {kept['show']}, {kept['where']}. If that's all fine, shall I charge your card?"
        if self.task == "gift":
            m = re.search(r"\b(\d{2,3})\b", low)
            if "amount" not in kept:
                if not m or not 25 <= int(m.group()) <= 200:
                    return "What a thoughtful idea! What amount did you have in mind? Vouchers run from €25 up to €200."
                kept["amount"] = m.group()
                return "And who's the lucky person? I'd love to put their name on it."
            kept["sure"] = "x"
            self.log.append("gate:gift")
            return f"So that's a €{kept['amount']} voucher. Ready for me to order it?"
        seed = next((s for s in self.seeds if s["order_id"].lower() in low), None)
        if not seed and "order" not in kept:
            return "Happy to sort that out! Could you share the order ID from your confirmation e-mail? It begins with a T."
        kept.setdefault("order", seed and seed["order_id"])
        if kept["order"] == "T-90377":
            self.log.append("refused:exchange")
            self.task, self.kept = "", {}
            return "Oh no! Those tickets are for tonight's show, and I'm not allowed to exchange anything on the day itself. So sorry!"
        if "day" not in kept:
            m = re.search("thursday|friday|saturday", low)
            if not m:
                return "Found it: 2 × Macbeth on Wednesday. I could move you to Thursday, Friday or Saturday instead. Which evening works for you?"
            kept["day"] = m.group().title()
        kept["sure"] = "x"
        self.log.append("gate:exchange")
        return f"Just so we're on the same page: 2 × Macbeth moves to {kept['day']}, and there's a €3 fee. Would you like me to make the switch?"
