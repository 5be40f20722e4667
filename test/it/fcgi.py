# SPDX-License-Identifier: Apache-2.0
"""A neighbour of the web server on a project's socket.

fcgi.py ask SOCKET ADDRESS METHOD URI [NAME=VALUE...]   a request in ADDRESS's name, its body from standard input; prints the reply
fcgi.py idle SOCKET NUMBER BYTES                         so many connections, each with the first BYTES of a request, until all are closed
"""
import os
import resource
import select
import socket
import struct
import sys

BEGIN, PARAMS, STDIN = 1, 4, 5


def record(kind, data):
    return struct.pack(">BBHHBB", 1, kind, 1, len(data), 0, 0) + data


def pair(name, value):
    size = b"".join(bytes([n]) if n < 128 else struct.pack(">I", n | 1 << 31) for n in (len(name), len(value)))
    return size + name.encode() + value.encode()


def head(params):
    return (record(BEGIN, struct.pack(">HB5x", 1, 0)) +
            record(PARAMS, b"".join(pair(k, v) for k, v in params.items())) + record(PARAMS, b""))


def ask(path, address, method, uri, *more):
    body = sys.stdin.buffer.read()
    params = {"REQUEST_METHOD": method, "REQUEST_URI": uri, "QUERY_STRING": uri.partition("?")[2], "REMOTE_ADDR": address,
              "CONTENT_LENGTH": str(len(body))}
    params.update(pair.split("=", 1) for pair in more)
    s = socket.socket(socket.AF_UNIX)
    try:
        s.settimeout(20)
        s.connect(path)
        s.sendall(head(params) + record(STDIN, body) + record(STDIN, b""))
        got = b""
        while chunk := s.recv(65536):
            got += chunk
    except OSError as e:
        sys.exit("refused: %s" % e)
    if not got:
        sys.exit("refused: closed without a reply")
    while got:
        kind, n, pad = got[1], struct.unpack(">H", got[4:6])[0], got[6]
        if kind == 6:
            sys.stdout.buffer.write(got[8:8 + n])
        got = got[8 + n + pad:]


def idle(path, number, n):
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    begin = head({"REQUEST_METHOD": "GET", "REQUEST_URI": "/"})[:int(n)]
    open_ones = []
    watch = select.poll()
    for _ in range(int(number)):
        s = socket.socket(socket.AF_UNIX)
        try:
            s.connect(path)
            s.sendall(begin)
        except OSError:
            pass  # closed already
        open_ones.append(s)
        watch.register(s, select.POLLIN)
    print("ready", flush=True)
    closed = 0
    while closed < len(open_ones):  # counts those that the service has closed
        for fd, _ in watch.poll():
            watch.unregister(fd)
            closed += 1
        print("closed", closed, flush=True)


{"ask": ask, "idle": idle}[sys.argv[1]](*sys.argv[2:])
