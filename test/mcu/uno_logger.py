# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: EskerDB contributors
"""What the serial line of LoggerUno may say.

After each start the newest rows are asked for. Each row that was reported as
synced must be among them, as it was sampled; a row that was not sampled, or was
lost before, must not.
"""

import re

TARGETS = {"flash": 18000, "ram": 1500}
CUT_CYCLES = 32_000_000
CUT_CALLS = 8


class Judge:
    """What the serial line may say, from what it said before."""

    def __init__(self):
        self.sampled = {}
        self.synced = -1
        self.asked = None
        self.answered = []
        self.answers = 0

    def started(self, first):
        """The next row is of time `first`: later ones are lost for good."""
        if first <= self.synced:
            return f"synced up to {self.synced}, started with {first}"
        if first > 0 and first - 1 not in self.sampled:
            return f"started with {first}, sampled no row before it"
        self.sampled = {
            time: row for time, row in self.sampled.items() if time < first
        }
        return None

    def answer(self, count):
        """The answer to the rows from `asked` on has ended."""
        rows, low = self.answered, self.asked
        times = [row[0] for row in rows]
        self.asked, self.answered = None, []
        self.answers += 1
        if low is None or count != len(rows):
            return f"an answer of {len(rows)} rows says {count}"
        if times != sorted(set(times)):
            return "the answer's rows are out of order"
        for time, *row in rows:
            if self.sampled.get(time) != row:
                return f"row {time} is {row}, not {self.sampled.get(time)}"
        # Of all rows the oldest may have been dropped, of the newest none.
        low = times[0] if low == 0 and times else low
        missing = set(range(low, self.synced + 1)) - set(times)
        if missing:
            return f"synced rows are missing: {sorted(missing)[:5]}"
        return None

    def powered(self):
        """The supply is on again."""
        self.asked, self.answered = None, []

    def typed(self, text):
        """Takes a line that was typed."""
        self.asked = int(text.split()[0])

    def said(self, text):
        """Takes a line; returns what is wrong with it, or None."""
        kind = text.split(" ")[0]
        numbers = [int(word) for word in re.findall(r"-?\d+", text)]
        if kind == "@":
            return self.started(numbers[0])
        if kind == "+":
            self.sampled[numbers[0]] = numbers[1:]
        elif kind == "=":
            self.synced = numbers[0]
        elif kind == "#":
            return self.answer(numbers[0])
        elif re.fullmatch(r"\d+,\d+,\d+", text):
            self.answered.append(numbers)
        else:
            return f"it says: {text}"
        return None

    def ended(self):
        """What is wrong with the end of the last life, or None."""
        if self.asked is not None or not self.answers:
            return "the last life has not answered"
        return None

    def counts(self):
        return {"answers": self.answers, "rows synced": self.synced + 1}
