# SPDX-License-Identifier: Apache-2.0
# Programs that behave differently on a terminal.

on_terminal() { # COMMAND...: what it prints on a terminal, whose end of input it meets at once
	python3 -c 'import os, pty, sys
pid, fd = pty.fork()
if pid == 0:
    os.execvp(sys.argv[1], sys.argv[1:])
said = b""
while True:
    try:
        more = os.read(fd, 4096)
    except OSError:
        break
    if not more:
        break
    said += more
sys.stdout.write(said.decode(errors="replace").replace("\r", ""))
sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))' "$@"
}
