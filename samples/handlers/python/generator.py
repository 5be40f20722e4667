#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A generator that cuts each file into ranges, and remembers how far it is in a file of its own.

    work_generator --app APP --input_template in.xml --output_template out.xml \\
        --handler 'python3 samples/handlers/python/generator.py 2000 40'
"""

import argparse
import sys

import locus_handler


def generator(total, parts):
    def generate(request):
        # The number of workunits that the file has already is the state: nothing has to be remembered here, and
        # after a crash between two answers nothing is lost or made twice.
        first = request["made"]
        last = min(parts, first + request["wanted"])
        ranges = [(i, total * i // parts, total * (i + 1) // parts) for i in range(first, last)]
        return {
            "workunits": [
                {"suffix": "%04d" % i, "command_line": "--from %d --to %d" % (begin, end)} for i, begin, end in ranges
            ],
            "exhausted": last >= parts,
        }

    return generate


def main():
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("total", type=int, help="the end of the whole range")
    options.add_argument("parts", type=int, help="into how many workunits each file is cut")
    given = options.parse_args()
    locus_handler.serve(name="ranges", generate=generator(given.total, given.parts))


if __name__ == "__main__":
    sys.exit(main())
