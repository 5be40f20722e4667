# SPDX-License-Identifier: Apache-2.0
# The hosts of a project, locus-clients: one directory each in $hosts. hostN belongs to the user hostN@example.org.
# For the scenarios and for ./demo.

host_key() { # NAME: makes its user; prints the account key
	locus -p "$project" user add "$1@example.org"
}

host_start() { # NAME [OPTION...]: its user is there, the key in $hosts/NAME.key
	local name=$1 nice=
	shift
	# An earlier release's client does not know the option.
	! locus-client --help | grep -q -e --nice || nice='--nice 0'
	LOCUS_HOST=$hosts/$name locus-client --dir "$hosts/$name" --url "$url" \
		--key "$(cat "$hosts/$name.key")" --platform "$(platform)" --ncpus 1 \
		--backoff 1:4 --buffer 1:2 $nice "$@" >>"$hosts/$name.out" 2>&1 </dev/null 7>&- &
	echo $! >"$hosts/$name.pid"
}

host_new() { # NAME [OPTION...]
	mkdir -p "$hosts" && host_key "$1" >"$hosts/$1.key" && host_start "$@"
}

host_names() {
	local pid
	for pid in "$hosts"/*.pid; do
		[[ -e $pid ]] && basename "$pid" .pid
	done
}

host_runs() { # NAME
	kill -0 "$(cat "$hosts/$1.pid")" 2>/dev/null
}

hosts_stop() {
	local name pid i
	for name in $(host_names); do
		[[ ! -e $hosts/$name/gui_rpc_auth.cfg ]] || stock_ctl "$name" --quit >/dev/null 2>&1
		kill "$(cat "$hosts/$name.pid")" 2>/dev/null
	done
	for name in $(host_names); do
		pid=$(cat "$hosts/$name.pid")
		for ((i = 0; i < 300; i++)); do
			kill -0 "$pid" 2>/dev/null || break
			sleep 0.2
		done
		kill -9 "$pid" 2>/dev/null
		wait "$pid" 2>/dev/null
		rm -f "$hosts/$name.pid"
	done
	return 0
}

new_hosts() { # NUMBER [OPTION...]: a test case each
	local n=$1 i
	shift
	for ((i = 1; i <= n; i++)); do
		need "host $i" host_new "host$i" "$@"
	done
}

# --- their logs

# Events of all hosts, stock clients too, in the form that account.awk reads.
events() {
	local log
	for log in "$hosts"/*/events.log; do
		[[ -e $log ]] || continue
		sed -nE "s/^[0-9]+ (received|acked) result=([^ ]+).*/\1 \2/p
			s/^[0-9]+ downloaded file=([^ ]+) bytes=([0-9]+).*/downloaded \1 \2/p
			s/^[0-9]+ computed result=([^ ]+) .*exit_status=(-?[0-9]+).*/computed \1 \2/p
			s/^[0-9]+ deleted file=([^ ]+).*/deleted \1/p" "$log" |
			sed "s/^/$(basename "$(dirname "$log")") /"
	done
	for log in "$hosts"/*/stdoutdae.txt; do
		[[ -e $log ]] || continue
		sed -nE "s/.*result state=NEW for ([^ ]+) from .*/received \1/p
			s/.*Finished download of ([^ ]+).*/downloaded \1/p
			s/.*result state=FILES_UPLOADED for ([^ ]+) from .*/computed \1 0/p
			s/.*result state=(COMPUTE_ERROR|ABORTED|UPLOAD_FAILED) for ([^ ]+) .*/computed \2 1/p
			s/.*got ack for task ([^ ]+).*/acked \1/p" "$log" |
			awk -v host="$(basename "$(dirname "$log")")" '
				FILENAME != "-" { size[$2] = $3; next }
				$1 == "downloaded" { $3 = size[$2] + 0 }
				{ print host, $0 }' <(sizes) -
	done
}

sizes() { # of the large files
	find "$data" -type f -printf 'size %P %s\n'
}

# The figures of all hosts on one line. What must never happen goes to the file.
account() { # FILE
	{ sizes; events; } | awk -v wrong="$1" -f "$here/account.awk"
}

# --- logs against the database

# Lines "HOST RESULT" of all that was ever sent.
ledger() {
	sql <"$here/ledger.sql"
}

# The hosts received what the database says was sent to them, and nothing twice.
check_ledger() {
	: >"$work/wrong"
	account "$work/wrong" >"$work/account"
	is "nothing was sent twice" "$(cat "$work/wrong")" ''
	check "the hosts' logs and the database agree" ledger_agrees
}

ledger_agrees() {
	events | awk '$2 == "received" { print $1, $3 }' | sort -u >"$work/received"
	ledger | awk '{ print $1, $2 }' | sort >"$work/sent"
	diff "$work/received" "$work/sent" >"$work/ledger.diff" || {
		echo "< received by a host   > sent by the database"
		head -n 20 "$work/ledger.diff"
		return 1
	}
	[[ -s $work/sent ]]
}
