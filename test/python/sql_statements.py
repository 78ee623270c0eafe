# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: EskerDB contributors
"""Random SELECTs over the tables of test/sql/README.md, which both back ends
and SQLite know.

What they do not share is left out, and tested by test/sql/machine: sums and
products beyond 64 bits, round(), first() and last(), CAST beyond a type.
"""

import random
from dataclasses import dataclass

INTS = {
    "t": ["k", "a", "b"],
    "u": ["k", "a"],
    "r": ["id", "v"],
    "w": [],
}
FLOATS = {"t": ["f", "g"], "u": ["f"], "r": [], "w": []}
TEXTS = {"t": ["n"], "u": [], "r": ["s"], "w": ["key"]}
KEYS = {"t": "k", "u": "k", "r": "id", "w": "key"}
WORDS = ["", "a", "ab", "abc", "b", "ba", "north", "south"]
COMPARISONS = ["<", "<=", "=", "<>", ">", ">="]


@dataclass(frozen=True)
class Statement:
    """A SELECT.

    is_ordered  whether ORDER BY says the place of each row
    """

    sql: str
    is_ordered: bool = False


class Statements:
    """Makes statements from a seed.

    tables     that they are over
    is_turned  write joins with their tables exchanged, and each order the
               other way
    """

    def __init__(
        self, seed: int, tables: tuple[str, ...] = ("t", "u", "r")
    ) -> None:
        self.dice = random.Random(seed)
        self.tables = tables
        self.is_turned = False

    def both_orders(self) -> list[Statement]:
        """Makes a statement, and the same one turned if that is another."""
        state = self.dice.getstate()
        made = self.statement()
        self.dice.setstate(state)
        self.is_turned = True
        turned = self.statement()
        self.is_turned = False
        return [made] if turned == made else [made, turned]

    def down(self) -> str:
        """Which way an order goes."""
        return " DESC" if self.chance(50) != self.is_turned else ""

    def pick(self, *items):
        return self.dice.choice(items)

    def chance(self, percent: int) -> bool:
        return self.dice.randrange(100) < percent

    def pattern(self) -> str:
        """Of LIKE."""
        word = self.pick(*WORDS)
        return self.pick(
            f"{word}%",
            f"{word}%",
            f"%{word[1:]}",
            f"%{word[1:2]}%",
            f"{word[:1]}_%",
            f"_{word[1:]}",
            f"%{word[-1:]}_",
        )

    # Expressions ------------------------------------------------------------

    def column(self, names) -> str:
        return self.dice.choice(names)

    def small(self) -> str:
        return str(self.dice.choice([0, 1, 2, 3, 7, 10, -1, -5, 50, 100, -40]))

    def int_value(self, table: dict, depth: int) -> str:
        """An integer below 2^31 or so, however deep."""
        if depth == 0 or self.chance(25):
            if self.chance(75):
                return self.column(table["ints"])
            return self.small()
        inner = depth - 1
        kind = self.dice.randrange(11)
        if kind == 10:
            values = [self.int_value(table, inner), self.int_value(table, 0)]
            return self.extreme([*values, self.small()])
        if kind < 3:
            left, right = (self.int_value(table, inner) for _ in range(2))
            return f"({left} {self.pick('+', '-')} {right})"
        if kind == 3:
            return f"({self.int_value(table, 0)} * {self.small()})"
        if kind < 6:
            op = self.pick("/", "%")
            right = self.pick(self.small(), self.int_value(table, 0))
            return f"({self.int_value(table, inner)} {op} {right})"
        if kind == 6:
            return f"abs({self.int_value(table, inner)})"
        if kind == 7:
            return f"(- {self.int_value(table, inner)})"
        if kind == 8:
            return (
                f"CASE WHEN {self.condition(table, inner)} THEN "
                f"{self.int_value(table, inner)} "
                + (
                    f"ELSE {self.int_value(table, inner)} "
                    if self.chance(60)
                    else ""
                )
                + "END"
            )
        return (
            f"coalesce({self.int_value(table, inner)}, "
            f"{self.int_value(table, 0)})"
            if self.chance(50)
            else f"bucket({self.int_value(table, 0)}, {self.pick(3, 7, 100)})"
        )

    def extreme(self, values: list[str]) -> str:
        """Of two values or all. In capitals it is no aggregate function, which
        in_duckdb() needs to know."""
        values = values[: self.pick(2, 3)]
        self.dice.shuffle(values)
        return f"{self.pick('MAX', 'MIN')}({', '.join(values)})"

    def float_value(self, table: dict, depth: int) -> str:
        if not table["floats"] or depth == 0:
            if table["floats"] and self.chance(80):
                return self.column(table["floats"])
            return self.pick("0.5", "2.25", "-1.0", "1e3", "0.0")
        left = self.float_value(table, depth - 1)
        if self.chance(30):
            right = self.int_value(table, 0)
        else:
            right = self.float_value(table, depth - 1)
        if self.chance(20):
            return f"abs({left})"
        if self.chance(15):
            return self.extreme([left, right])
        return f"({left} {self.pick('+', '-', '*', '/')} {right})"

    def text_value(self, table: dict, depth: int) -> str:
        kind = self.dice.randrange(6) if depth > 0 else 0
        if kind < 2:
            return self.column(table["texts"])
        text = self.text_value(table, depth - 1)
        if kind < 4:
            start, count = self.pick(1, 1, 2, 3, 6), self.pick(0, 1, 2, 4, 9)
            many = self.pick("", f", {count}", f", {count}")
            return f"substr({text}, {start}{many})"
        other = self.pick(f"'{self.pick(*WORDS)}'", self.column(table["texts"]))
        if self.chance(20):
            return self.extreme([text, other])
        chosen = f"CASE WHEN {self.condition(table, 0)} THEN {text}"
        if kind == 4:
            return f"{chosen} ELSE {other} END"
        return f"coalesce({chosen} END, {other})"

    def number(self, table: dict, depth: int) -> str:
        if self.chance(25):
            return self.float_value(table, min(depth, 1))
        return self.int_value(table, depth)

    def condition(self, table: dict, depth: int) -> str:
        kind = self.dice.randrange(14)
        if depth > 0 and kind < 4:
            left, right = (self.condition(table, depth - 1) for _ in range(2))
            return f"({left} {self.pick('AND', 'OR')} {right})"
        if depth > 0 and kind == 4:
            return f"(NOT {self.condition(table, depth - 1)})"
        no = self.pick("", "", "NOT ")
        if kind == 5:
            items = ", ".join(self.small() for _ in range(self.pick(1, 2, 4)))
            return f"{self.int_value(table, depth)} {no}IN ({items})"
        if kind == 6:
            ends = [self.dice.randrange(-60, 120) for _ in range(2)]
            return (
                f"{self.int_value(table, depth)} {no}BETWEEN "
                f"{min(ends)} AND {max(ends)}"
            )
        if kind == 7:
            return f"({self.number(table, depth)} IS {no}NULL)"
        if kind == 8 and table["texts"]:
            name = self.column(table["texts"])
            if self.chance(50):
                return f"{name} {no}LIKE '{self.pattern()}'"
            text = self.text_value(table, self.pick(0, 0, depth, 2))
            if self.chance(20):
                return f"length({text}) {self.pick(*COMPARISONS)} 3"
            return f"{text} {self.pick(*COMPARISONS)} '{self.pick(*WORDS)}'"
        if kind == 9 and "kv" in table:
            return self.kv_condition(table["kv"])
        if kind == 9:  # of the key: becomes bounds
            key, value = table["key"], self.dice.randrange(0, 1300)
            return f"{key} {self.pick(*COMPARISONS)} {value}"
        if kind == 10 and table["floats"]:
            value = self.pick("0.5", "-3.25", "10", "2.1", "1e9")
            name = self.column(table["floats"])
            return f"{name} {self.pick(*COMPARISONS)} {value}"
        if kind == 11:
            name = self.column(table["ints"])
            return f"{name} {self.pick(*COMPARISONS)} {self.small()}"
        if kind == 12:
            return f"({self.int_value(table, 0)} IS {no}{self.small()})"
        left, right = self.number(table, depth), self.number(table, 0)
        return f"{left} {self.pick(*COMPARISONS)} {right}"

    def kv_condition(self, prefix: str) -> str:
        """Of a kv table's key, type or value."""
        op, text = self.pick(*COMPARISONS), self.pick(*WORDS)
        least = f"{text}/{self.dice.randrange(90)}"
        return self.pick(
            f"{prefix}key {op} '{least}'",
            f"{prefix}key LIKE '{text}%'",
            f"{prefix}key IN ('{least}', 'ab/42', 'north/6')",
            f"{prefix}type {op} '{self.pick('int', 'float', 'signed')}'",
            (
                f"({prefix}type IN ('int', 'signed') AND "
                f"CAST({prefix}value AS BIGINT) {op} {self.small()})"
            ),
            (
                f"({prefix}type = 'float' AND "
                f"CAST({prefix}value AS DOUBLE) {op} 0.5)"
            ),
        )

    def where(self, table: dict, percent: int = 70) -> str:
        tests = [table["on"]] if "on" in table else []
        if self.chance(percent):
            tests += [
                self.condition(table, self.dice.randrange(3))
                for _ in range(self.pick(1, 1, 2, 3))
            ]
        if not tests:
            return ""
        return " WHERE " + " AND ".join(f"({test})" for test in tests)

    # FROM -------------------------------------------------------------------

    def table(self) -> dict:
        """A FROM clause and the names in it."""
        made = self.any_table("")
        if self.chance(15):
            return self.subquery(made)
        return made

    def any_table(self, alias: str) -> dict:
        name = self.pick(*self.tables)
        if name == "w" and self.chance(70):
            return self.kv_values(alias)
        return self.plain(name, alias)

    @staticmethod
    def plain(name: str, alias: str) -> dict:
        """The names of a table, with its alias if it has one."""
        prefix = f"{alias}." if alias else ""

        def named(names):
            return [prefix + n for n in names]

        made = {
            "from": f"{name} {alias}".strip(),
            "ints": named(INTS[name]),
            "floats": named(FLOATS[name]),
            "texts": named(TEXTS[name]),
            "key": prefix + KEYS[name],
            "once": prefix + KEYS[name],
        }
        if name == "w":
            made["kv"] = prefix
            made["key"] = f"length({made['once']})"
            made["ints"] = [made["key"]]
        return made

    def kv_values(self, alias: str) -> dict:
        """The numbers of a kv table, of one type."""
        prefix = f"{alias}." if alias else ""
        is_float = self.chance(30)
        value, types = "CAST(value AS BIGINT) AS v", "IN ('int', 'signed')"
        if is_float:
            value, types = "CAST(value AS DOUBLE) AS v", "= 'float'"
        sql = f"SELECT key AS n, {value} FROM w WHERE type {types}"
        if self.chance(40):
            sql += f" AND {self.kv_condition('')}"
        made = [f"length({prefix}n)"] if is_float else [f"{prefix}v"]
        return {
            "from": f"({sql}) AS {alias or 'w'}",
            "ints": made,
            "floats": [f"{prefix}v"] if is_float else [],
            "texts": [f"{prefix}n"],
            "key": made[0],
            "once": f"{prefix}n",
        }

    def subquery(self, inner: dict) -> dict:
        """A SELECT in FROM, which keeps the key's name."""
        key, shift = inner["key"], self.pick(0, 5, 1000)
        value = self.int_value(inner, 1)
        keyed = f"{key} + {shift}" if shift else key
        by = inner["once"] + self.down()
        tail = "" if self.chance(60) else f" ORDER BY {by} LIMIT 40"
        sql = (
            f"SELECT {keyed} AS kk, {value} AS vv FROM {inner['from']}"
            f"{self.where(inner, 50)}{tail}"
        )
        return {
            "from": f"({sql}) AS q",
            "ints": ["kk", "vv"],
            "floats": [],
            "texts": [],
            "key": "kk",
        }

    def join(self) -> dict:
        """Two inputs or three."""
        if self.chance(10):
            a, b = self.grouped("x"), self.grouped("y")
            on = f"{b['key']} {self.pick('=', '>')} {a['key']}"
            made = self.joined(a, self.pick("JOIN", "LEFT JOIN"), b, on)
            return made if self.chance(50) else self.third(made, b["key"])
        kind = self.pick("JOIN", "JOIN", "LEFT JOIN")
        a, b = self.any_table("x"), self.any_table("y")
        on = self.pick(
            f"{a['key']} = {b['key']}",
            f"{b['key']} = {a['key']} + {self.pick(1, 10, -30)}",
            f"{b['key']} = {a['ints'][:2][-1]}",
            f"{a['ints'][-1]} {self.pick('=', '<')} {b['ints'][-1]}",
        )
        if self.chance(25):
            on += f" AND {self.condition(self.beside(a, b), 0)}"
        made = self.joined(a, kind, b, on)
        return self.third(made, b["key"]) if self.chance(40) else made

    @staticmethod
    def beside(a: dict, b: dict) -> dict:
        """The names of two inputs."""
        made = {
            "ints": a["ints"] + b["ints"],
            "floats": a["floats"] + b["floats"],
            "texts": a["texts"],
            "key": a["key"],
        }
        return {**made, "kv": b["kv"]} if "kv" in b else made

    def joined(self, a: dict, kind: str, b: dict, on: str) -> dict:
        """A join; an inner one may have its condition in WHERE."""
        made = self.beside(a, b)
        made["is_join"] = True
        tests = [a["on"]] if "on" in a else []
        is_apart, apart = self.chance(20), self.pick(",", " CROSS JOIN")
        is_apart = is_apart and kind == "JOIN"
        first, second = a["from"], b["from"]
        if self.is_turned and (kind == "JOIN" or "is_join" not in a):
            first, second = second, first
            # What is on the right of a join is no join.
            is_apart = is_apart or "is_join" in a
        if is_apart:
            tests = [*tests, on]
            made["from"] = f"{first}{apart} {second}"
        else:
            made["from"] = f"{first} {kind} {second} ON {on}"
        if tests:
            made["on"] = " AND ".join(tests)
        return made

    def third(self, pair: dict, key: str) -> dict:
        """One more input: a table or groups, by keys of the others."""
        kind = self.pick("JOIN", "LEFT JOIN")
        if self.chance(30):
            c = self.grouped("z")
        else:
            c = self.any_table("z")
        on = self.pick(
            f"{c['key']} = {pair['key']}",
            f"{c['key']} = {key}",
            f"{c['key']} = {key} + {self.pick(1, 10, -30)}",
            f"{self.column(pair['ints'])} = {c['key']}",
        )
        if self.chance(25):
            on += f" AND {self.condition(self.beside(pair, c), 0)}"
        return self.joined(pair, kind, c, on)

    def grouped(self, alias: str) -> dict:
        """A SELECT that is more than a table's rows."""
        inner = self.any_table("")
        key = self.column([*inner["ints"], f"{inner['key']} / 100"])
        sql = f"SELECT {key} AS kk, count(*) AS vv FROM {inner['from']}"
        sql += f"{self.where(inner, 50)} GROUP BY {key}"
        return {
            "from": f"({sql}) AS {alias}",
            "ints": [f"{alias}.kk", f"{alias}.vv"],
            "floats": [],
            "texts": [],
            "key": f"{alias}.kk",
        }

    # SELECT -----------------------------------------------------------------

    def statement(self) -> Statement:
        table = self.join() if self.chance(20) else self.table()
        kind = self.dice.randrange(10)
        if kind < 4:
            return self.plain_select(table)
        if kind < 6:
            return self.one_group(table)
        if kind < 9:
            return self.groups(table)
        if self.chance(50):
            return self.union()
        keys = self.column(table["ints"])
        sql = f"SELECT DISTINCT {keys} FROM {table['from']}{self.where(table)}"
        if self.chance(30):
            return Statement(f"{sql} ORDER BY 1{self.down()}", True)
        return Statement(sql)

    def values(self, table: dict) -> list[str]:
        values = [
            self.number(table, self.dice.randrange(3))
            for _ in range(self.pick(1, 2, 3))
        ]
        if table["texts"] and self.chance(30):
            text = self.text_value(table, self.pick(0, 1, 1, 2))
            text = f"length({text})" if self.chance(25) else text
            values.append(f"{text} AS s{len(values)}")
        if self.chance(15):
            values.append(f"({self.condition(table, 1)})")
        return values

    def plain_select(self, table: dict) -> Statement:
        values = self.values(table)
        sql = f"SELECT {', '.join(values)} FROM {table['from']}"
        sql += self.where(table)
        if not self.chance(40):
            return Statement(sql)
        other = self.number(table, 1)
        if "once" not in table:
            return Statement(f"{sql} ORDER BY {other}{self.down()}")
        by = self.pick("", f"{other}{self.down()}, ")
        sql += f" ORDER BY {by}{table['once']}{self.down()}"
        if self.chance(60):
            sql += f" LIMIT {self.pick(0, 1, 3, 10)}"
            if self.chance(50):
                sql += f" OFFSET {self.pick(0, 1, 5)}"
        return Statement(sql, True)

    def aggregates(self, table: dict) -> list[str]:
        if self.chance(8):
            value = self.number(table, self.pick(0, 1))
            function = self.pick("count", "count", "sum", "avg")
            return [f"{function}(DISTINCT {value})", f"max({value})"]
        found = []
        for _ in range(self.pick(1, 2, 3)):
            function = self.pick("count", "sum", "min", "max", "avg")
            value = self.number(table, self.pick(0, 0, 1))
            if self.chance(12):
                part = self.pick("0", "0.125", "0.25", "0.5", "0.75", "1")
                found.append(f"quantile({value}, {part})")
                continue
            if function == "count" and self.chance(60):
                value = "*"
            found.append(f"{function}({value})")
        return found

    def one_group(self, table: dict) -> Statement:
        values = ", ".join(self.aggregates(table))
        sql = f"SELECT {values} FROM {table['from']}{self.where(table)}"
        return Statement(sql)

    def groups(self, table: dict) -> Statement:
        key = table["key"]
        keys = self.pick(
            [f"{key} / {self.pick(7, 50, 200)}"],
            [f"bucket({key}, {self.pick(9, 100)})"],
            [f"{key} / 100", f"{key} / 30"],
            [self.column(table["ints"])],
            [self.int_value(table, 1), self.column(table["ints"])],
            [
                self.text_value(table, self.pick(0, 0, 1))
                if table["texts"]
                else self.column(table["ints"])
            ],
            [key],
        )
        values = self.aggregates(table)
        sql = f"SELECT {', '.join(keys + values)} FROM {table['from']}"
        sql += self.where(table) + f" GROUP BY {', '.join(keys)}"
        if self.chance(30):
            sql += f" HAVING {self.pick(*values)} > {self.small()}"
        if not self.chance(40):
            return Statement(sql)
        sql += f" ORDER BY 1{self.down()}"
        return Statement(sql, len(keys) == 1)

    def union(self) -> Statement:
        parts = []
        for _ in range(2):
            table = self.table()
            parts.append(
                f"SELECT {self.int_value(table, 1)} FROM {table['from']}"
                f"{self.where(table)}"
            )
        return Statement(" UNION ALL ".join(parts))
