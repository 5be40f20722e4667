#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""An assimilator that stores outputs in an SQLite database, once even if it is asked twice.

    assimilator --app APP --handler 'python3 samples/handlers/python/assimilator.py results.db'
"""

import argparse
import sqlite3
import sys

import locus_handler

SCHEMA = """
CREATE TABLE IF NOT EXISTS workunit (
    name TEXT PRIMARY KEY, id INTEGER NOT NULL, result INTEGER, host INTEGER, error_mask INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS output (
    workunit TEXT NOT NULL, name TEXT NOT NULL, content BLOB NOT NULL, PRIMARY KEY (workunit, name));
"""


def assimilator(db):
    def assimilate(request):
        wu, result = request["workunit"], request["canonical"]
        outputs = []
        for number, file in enumerate(request["outputs"]):
            with open(file["path"], "rb") as source:
                outputs.append((wu["name"], file["open_name"] or str(number), source.read()))
        try:
            with db:  # one transaction
                db.execute(
                    "INSERT OR REPLACE INTO workunit VALUES (?, ?, ?, ?, ?)",
                    (wu["name"], wu["id"], result and result["id"], result and result["host"], request["error_mask"]),
                )
                db.executemany("INSERT OR REPLACE INTO output VALUES (?, ?, ?)", outputs)
        except sqlite3.OperationalError as why:  # locked, or its disk is full
            raise locus_handler.Later(str(why)) from None
        return {}

    return assimilate


def main():
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("database", help="file of the SQLite database")
    # Several processes (--handlers) may wait for each other.
    db = sqlite3.connect(options.parse_args().database, timeout=60)
    db.execute("PRAGMA journal_mode = WAL")
    db.executescript(SCHEMA)
    locus_handler.serve(name="sqlite", assimilate=assimilator(db))


if __name__ == "__main__":
    sys.exit(main())
