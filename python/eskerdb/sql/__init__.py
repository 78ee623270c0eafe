# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: EskerDB contributors
"""SQL over a volume's tables.

duck.py answers any SQL by DuckDB over Arrow.
"""
