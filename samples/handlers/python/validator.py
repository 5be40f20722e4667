#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A validator that tolerates small differences: outputs agree if their numbers differ by one part in a million at most.

    validator --app APP --handler 'python3 samples/handlers/python/validator.py'
"""

import argparse
import math
import sys

import locus_handler


class Bad(Exception):
    """A file that no correct program would write."""


def numbers(path):
    """The lines of a file, each a list of numbers."""
    # A file that cannot be read now raises OSError: not now.
    with open(path, "rb") as file:
        data = file.read()
    try:
        rows = [[float(word) for word in line.split()] for line in data.splitlines()]
    except ValueError:
        raise Bad("not a number in a line") from None
    if not any(rows):
        raise Bad("it has no numbers")
    if not all(math.isfinite(x) for row in rows for x in row):
        raise Bad("a number is not finite")
    return rows


def agree(a, b, tolerance):
    return len(a) == len(b) and all(
        len(x) == len(y) and all(math.isclose(p, q, rel_tol=tolerance) for p, q in zip(x, y)) for x, y in zip(a, b)
    )


def validator(tolerance):
    def validate(request):
        groups = []  # the first output of each group
        replies = []
        # The canonical result first, if there is one: it is what late results are compared with.
        canonical = request["workunit"]["canonical_resultid"]
        for result in sorted(request["results"], key=lambda r: r["id"] != canonical):
            try:
                files = [numbers(f["path"]) for f in result["outputs"] if not f["no_validate"] and not f["absent"]]
            except Bad as why:
                replies.append({"id": result["id"], "bad": str(why)})
                continue
            for i, first in enumerate(groups):
                if len(first) == len(files) and all(agree(a, b, tolerance) for a, b in zip(first, files)):
                    replies.append({"id": result["id"], "group": i})
                    break
            else:
                groups.append(files)
                replies.append({"id": result["id"], "group": len(groups) - 1})
        return {"results": replies}

    return validate


def main():
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--tolerance", type=float, default=1e-6, help="relative difference (default: %(default)s)")
    locus_handler.serve(name="numbers", validate=validator(options.parse_args().tolerance))


if __name__ == "__main__":
    sys.exit(main())
