# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: EskerDB contributors
"""What the serial line of SettingsUno may say.

After each start all settings are listed. Each must have the value that was last
acknowledged; one that was being set, this or the new one; after a reset that was
not acknowledged all have their values or all their defaults. No start that was
reported is counted twice, or not at all.
"""

import re

TARGETS = {"flash": 32256, "ram": 1500}
CUT_CYCLES = 8_000_000
CUT_CALLS = 40
DEFAULTS = {
    "name": "uno",
    "ssid": "",
    "pass": "",
    "period": "60",
    "low": "-10",
    "high": "40",
    "offset": "0",
}
TEXTS = ("name", "ssid", "pass")
TEXT_MAX = 32


def is_refused(name, equals, value):
    """Whether a typed line that is not a command must be refused."""
    if not equals or name not in DEFAULTS:
        return True
    if name in TEXTS:
        return len(value) > TEXT_MAX
    return not re.fullmatch(r"-?\d+", value)


class Judge:
    """What the serial line may say, from what it said before."""

    def __init__(self):
        self.values = dict(DEFAULTS)
        self.pending = None  # the values, if the last command is done
        self.command = None  # typed, and not answered yet
        self.listed = []
        self.starts = 0
        self.lives = 0  # since a start was reported
        self.counted = {"lists": 0, "sets": 0, "resets": 0, "refused": 0}
        self.has_listed = False  # in this life

    def powered(self):
        """The supply is on again."""
        self.command, self.listed = None, []
        self.lives += 1
        self.has_listed = False

    def typed(self, text):
        """Takes a line that was typed."""
        self.command = text
        name, equals, value = text.partition("=")
        if text == "list":
            return
        if text == "reset":
            self.pending = dict(DEFAULTS)
        elif not is_refused(name, equals, value):
            # As it is printed: -0 is 0.
            shown = value if name in TEXTS else str(int(value))
            self.pending = {**self.values, name: shown}

    def started(self, starts):
        if not self.starts < starts <= self.starts + self.lives:
            return f"start {starts} after {self.starts}, of {self.lives} more"
        self.starts, self.lives = starts, 0
        return None

    def list_ended(self, count):
        listed, self.listed = self.listed, []
        if self.command != "list" or count != len(DEFAULTS):
            return f"a list of {count} after {self.command}"
        self.command = None
        self.has_listed = True
        self.counted["lists"] += 1
        names = [name for name, _ in listed]
        if names != list(DEFAULTS):
            return f"the list has {names}"
        listed = dict(listed)
        if listed not in (self.values, self.pending):
            return f"listed {listed}, not {self.values} or {self.pending}"
        self.values, self.pending = listed, None
        return None

    def acknowledged(self, name):
        command, self.command = self.command, None
        kind = "resets" if command == "reset" else "sets"
        wanted = "" if kind == "resets" else (command or "").partition("=")[0]
        if self.pending is None or name != wanted:
            return f"acknowledged {name} after {command}"
        self.counted[kind] += 1
        self.values, self.pending = self.pending, None
        return None

    def refused(self, status):
        command, self.command = self.command, None
        if command in (None, "list", "reset") or not is_refused(
            *command.partition("=")
        ):
            return f"status {status} after {command}"
        self.counted["refused"] += 1
        return None

    def said(self, text):
        """Takes a line; returns what is wrong with it, or None."""
        kind, _, rest = text.partition(" ")
        if kind == "@":
            return self.started(int(rest))
        if kind == "#":
            return self.list_ended(int(rest))
        if kind == "=":
            return self.acknowledged(rest)
        if kind == "!":
            return self.refused(rest)
        name, equals, value = text.partition("=")
        if not equals or self.command != "list":
            return f"it says: {text}"
        self.listed.append((name, value))
        allowed = {self.values.get(name), (self.pending or {}).get(name)}
        return None if value in allowed else f"{name} is {value}"

    def ended(self):
        """What is wrong with the end of the last life, or None."""
        return None if self.has_listed else "the last life has not answered"

    def counts(self):
        return {"starts": self.starts, **self.counted}
