#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A file chooser that prefers the files of a list, such as those of a sky region that is to be finished first.

    working_set_manager --handler 'python3 samples/handlers/python/file_chooser.py urgent.txt'

The list has a name, or a pattern such as sky_north_*, a line.  Files that no line matches follow in the order of Locus.
"""

import argparse
import fnmatch
import sys

import locus_handler


def chooser(path):
    def choose(request):
        # Read each time: whoever edits the list need not restart anything.
        with open(path, encoding="utf-8") as lines:
            wishes = [line.strip() for line in lines if line.strip()]
        names = [candidate["name"] for candidate in request["files"]]
        return {"files": [name for wish in wishes for name in names if fnmatch.fnmatchcase(name, wish)]}

    return choose


def main():
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("list", help="names or patterns of files, the most urgent first")
    locus_handler.serve(name="file chooser", choose=chooser(options.parse_args().list))


if __name__ == "__main__":
    sys.exit(main())
