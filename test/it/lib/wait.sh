# SPDX-License-Identifier: Apache-2.0
# Waiting. Limits are long, so that no test fails for being slow.

within() { # SECONDS COMMAND...: true as soon as the command succeeds
	local end=$((SECONDS + $1))
	shift
	until "$@"; do
		[[ $SECONDS -lt $end ]] || return 1
		sleep 0.1
	done
}

# Waits for a condition without which the rest makes no sense, for at most five minutes.
wait_for() { # SHELL-TEXT
	within 300 eval "$1" && return
	not_ok "waited for: $1"
	tail -n 20 "$work"/*.err 2>/dev/null
	exit 1
}
