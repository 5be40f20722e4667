# SPDX-License-Identifier: Apache-2.0
# Processes, ports, and values of key=value texts.

value() { # KEY TEXT: its value in "key=value key=value ..."
	[[ " $2 " =~ " $1="([^ ]*)" " ]] && echo "${BASH_REMATCH[1]}"
}

# A process is identified by its pid and its start time.
start_time() { # PID: fails if there is none
	local stat
	stat=$(cat "/proc/$1/stat" 2>/dev/null) || return 1
	stat=${stat##*) }
	# shellcheck disable=SC2086
	set -- $stat
	[[ $1 != Z ]] && echo "${20}"
}

# Pids of the processes that carry TEXT in the environment they started with, except this one. Whatever a project and
# its hosts start carries it: the supervisor, Apache and this library see to that.
marked() { # TEXT
	local pid
	# The directories of a shell are in the environment of its commands, of these too.
	for pid in $(unset PWD OLDPWD; grep -lsaFe "$1" /proc/[0-9]*/environ | cut -d/ -f3); do
		[[ $pid != "$$" ]] && ! cmp -s "/proc/$pid/cmdline" "/proc/$$/cmdline" && echo "$pid"
	done
}

# Waits until no marked process runs; at the end of its time it names those that are left.
gone() { # TEXT SECONDS
	local i
	for ((i = 0; i < $2 * 5; i++)); do
		[[ -n $(marked "$1") ]] || return 0
		sleep 0.2
	done
	for i in $(marked "$1"); do
		echo "process $i is left: $(tr '\0' ' ' <"/proc/$i/cmdline")"
	done
	return 1
}

# Pids of a program below this scenario's directory, by its name as in /proc/PID/comm.
pids_of() { # NAME
	local pid
	for pid in $(marked "$work"); do
		[[ $(cat "/proc/$pid/comm" 2>/dev/null) == "$1" ]] && echo "$pid"
	done
}

runs() { # NAME
	[[ -n $(pids_of "$1") ]]
}

# Kills a process that may be no child of this shell, and waits until it is gone.
kill_hard() { # PID
	kill -9 "$1"
	within 300 not start_time "$1" >/dev/null
}

# Not drawn by the seed: scenarios with one seed run beside each other.
free_port() {
	local port
	while :; do
		port=$((20000 + SRANDOM % 12000))
		(exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null || break
	done
	echo "$port"
}

platform() { # of this machine, as a project names it
	case $(uname -m) in
	x86_64) echo x86_64-pc-linux-gnu ;;
	i?86) echo i686-pc-linux-gnu ;;
	aarch64) echo aarch64-unknown-linux-gnu ;;
	*) echo "$(uname -m)-unknown-linux-gnu" ;;
	esac
}
