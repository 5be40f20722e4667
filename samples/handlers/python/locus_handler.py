# SPDX-License-Identifier: Apache-2.0
"""The protocol of Locus' handlers (man 7 locus-handlers) for Python: write a function, call serve().

    import locus_handler

    def validate(request):
        ...
        return {"results": [...]}

    locus_handler.serve(validate=validate)

What a function returns is the reply.  It may raise Later("why") if it cannot say now; the item comes back after a
pause.  Any other exception counts as "not now", too; its traceback is shown by "locus work show" and in the log.
What is printed goes to the log, as standard output belongs to the protocol.  Needs the standard library only.
"""

import json
import os
import sys
import traceback

PROTOCOL = 1
out = None  # the stream of replies, while serve() runs


class Later(Exception):
    """Not now: ask again after a pause.  It harms nobody."""


frames = {}  # texts of tracebacks, by the places they name: a thousand items often fail at one place


def traceback_of(error):
    """The traceback as Python prints it."""
    if error.__cause__ or error.__context__ or hasattr(error, "exceptions"):
        return "".join(traceback.format_exception(type(error), error, error.__traceback__))
    places, tb = [], error.__traceback__
    while tb:
        places.append((tb.tb_frame.f_code, tb.tb_lasti))
        tb = tb.tb_next
    places = tuple(places)
    if places not in frames:
        if len(frames) >= 100:
            frames.clear()
        frames[places] = "".join(traceback.format_tb(error.__traceback__))
    what = traceback.format_exception_only(type(error), error)
    return "Traceback (most recent call last):\n" + frames[places] + "".join(what)


def answer(functions, request):
    """The reply to one request, without its id."""
    try:
        function = functions[request["type"]]
    except KeyError:
        return {"error": "this handler has no function for " + str(request.get("type"))}
    try:
        reply = function(request)
        return {} if reply is None else dict(reply)
    except Later as later:
        return {"later": str(later) or "no reason given"}
    except Exception as error:  # whatever it is, it is no verdict
        return {"error": "%s: %s" % (type(error).__name__, error), "detail": traceback_of(error)}


def take_over_output():
    """Returns a stream for replies; what the program prints from now on goes to standard error."""
    sys.stdout.flush()
    out = os.fdopen(os.dup(1), "w", encoding="utf-8", newline="\n")
    os.dup2(2, 1)
    sys.stdout = sys.stderr
    return out


def serve(name=None, in_flight=None, **functions):
    """Answers requests until standard input ends.

    functions: validate, assimilate, generate, trickle, choose; each takes a request and returns a reply, both dicts.
    in_flight: how many requests may wait here at once; by default as many as the daemon likes.
    """
    global out
    out = take_over_output()
    hello = {"type": "hello", "protocol": PROTOCOL}
    if name:
        hello["name"] = name
    if in_flight:
        hello["in_flight"] = in_flight
    for line in sys.stdin.buffer:
        request = json.loads(line)
        if request["type"] == "hello":
            if request["protocol"] != PROTOCOL:
                sys.exit("this handler speaks protocol %d, Locus speaks %s" % (PROTOCOL, request["protocol"]))
            reply = hello
        else:
            reply = answer(functions, request)
            reply["id"] = request["id"]
        out.write(json.dumps(reply, allow_nan=False) + "\n")
        out.flush()
