#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A trickle handler: appends what running tasks report to a table, and answers when they ask.

    trickle_handler --variety progress --handler 'python3 samples/handlers/python/trickle_handler.py progress.tsv'
"""

import argparse
import os
import re
import sys

import locus_handler


def trickle_handler(file):
    def trickle(request):
        message = request["message"]
        found = re.search(r"<fraction_done>\s*([0-9.]+)\s*</fraction_done>", message["xml"])
        if found is None:
            # It will not get better: say so in the log, and take it.
            print("message %d of host %d has no fraction_done" % (message["id"], message["host"]))
            return {}
        file.write("%d\t%d\t%d\t%s\t%s\n" % (message["id"], message["time"], message["host"], message["result"], found[1]))
        # What is acknowledged is removed, so it must be on disk before.
        file.flush()
        os.fsync(file.fileno())
        if "<want_reply/>" in message["xml"]:
            return {"down": "<seen>%s</seen>\n" % found[1]}
        return {}

    return trickle


def main():
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("table", help="file to which id, time, host, result and fraction are appended")
    # A crash may repeat a line; the id tells.
    with open(options.parse_args().table, "a", encoding="utf-8") as file:
        locus_handler.serve(name="progress", trickle=trickle_handler(file))


if __name__ == "__main__":
    sys.exit(main())
