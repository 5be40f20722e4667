# SPDX-License-Identifier: Apache-2.0
"""schema.py SCHEMA DEFINITION FILE: does each line of JSON in FILE match the definition, and nothing that it does not know?

Knows the keywords that samples/handlers/protocol.schema.json uses, and no others.  A property that no definition names is
a fault, too: the schema would not describe it.  Prints the types of the lines, and ends with 1 at the first fault.
"""
import json
import re
import sys

TYPES = {"object": dict, "array": list, "string": str, "integer": int, "number": (int, float), "boolean": bool, "null": type(None)}


def faults(value, rule, root):
    """Why the value does not match; nothing if it does."""
    for keyword, what in rule.items():
        if keyword == "$ref":
            at = root
            for name in what.split("/")[1:]:
                at = at[name]
            yield from faults(value, at, root)
        elif keyword == "type":
            if not isinstance(value, TYPES[what]) or (isinstance(value, bool) and what != "boolean"):
                yield "%r is no %s" % (value, what)
                return
        elif keyword == "required":
            yield from ("%s is missing" % name for name in what if name not in value)
        elif keyword == "properties":
            for name, inner in value.items():
                if name not in what:
                    yield "%s is not described" % name
                else:
                    yield from ("%s: %s" % (name, f) for f in faults(inner, what[name], root))
        elif keyword == "items":
            for inner in value:
                yield from faults(inner, what, root)
        elif keyword in ("anyOf", "oneOf"):
            each = [list(faults(value, one, root)) for one in what]
            good = sum(not f for f in each)
            if good == 0 or (keyword == "oneOf" and good > 1):
                yield "%d of %d match %s: %s" % (good, len(each), json.dumps(value), each)
        else:
            good = {
                "const": lambda: value == what,
                "enum": lambda: value in what,
                "pattern": lambda: re.search(what, value),
                "minItems": lambda: len(value) >= what,
                "minimum": lambda: value >= what,
                "maximum": lambda: value <= what,
                "description": lambda: True,
            }[keyword]()
            if not good:
                yield "%r does not keep %s %s" % (value, keyword, what)


schema, definition, lines = sys.argv[1:]
root = json.load(open(schema))
types = set()
for line in open(lines):
    value = json.loads(line)
    types.add(value.get("type", "reply"))
    for fault in faults(value, root["$defs"][definition], root):
        sys.exit("%s: %s" % (line.strip(), fault))
print(*sorted(types))
