# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: EskerDB contributors
"""SQL over a volume's tables; docs/sql.md has its rules.

source, tokens      the text, refusals with their places
syntax, pratt, parse
                    statements as they are written
types, expr, interval, rules, fold
                    typed expressions, and what makes them
names, bind_expr, bind, logical
                    what a statement means
plan, access, ordered, base, joins, planner
                    how it is done: a tree of operators
emit, kv_conditions, push
                    the calls by which a plan is written by a back end
assemble, bytes_expr, bytes_variables, bytes_scans, bytes_aggregates,
bytes_records, bytes_backend
                    the back end for the machine of src/query
tables, parameter, engine, explain
                    over open tables, and shown
stored, table_change, kv_change, change
                    what INSERT, UPDATE and DELETE write
duck                any other SQL, by DuckDB over Arrow
"""
