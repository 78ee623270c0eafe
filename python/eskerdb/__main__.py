# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: EskerDB contributors
"""`python -m eskerdb` is `esker`."""

from eskerdb.cli import main

if __name__ == "__main__":
    main()
