# SPDX-License-Identifier: Apache-2.0
# What every scenario starts from: a private project in a directory of its own, checks that are
# counted, and an end at which nothing may be left over.  A scenario sources this file.  The runner
# gives it $source, $build and $seed in the environment; by hand it runs in the build directory,
# after "make install" into inst/ there.

set -u
export LC_ALL=C
scenario=$(basename "$0")
source=${source:-$(cd "$(dirname "$0")/../../.." && pwd)} build=${build:-$PWD} seed=${seed:-1}
. "$source/test/it/project.sh" || exit 1
libexec=$build/inst/libexec/locus
[[ -x $build/inst/bin/locus ]] || {
	echo "$scenario: there is no $build/inst/bin/locus; make check-it puts it there" >&2
	exit 1
}
work=$(mktemp -d "${TMPDIR:-/tmp}/locus-it.XXXXXX") || exit 1
chmod 755 "$work"
project=$work/project hosts=$work/hosts data=$work/data
mkdir -p "$hosts" "$data"
# Schedulers keep all that they answer here, whatever account they run as.
keep_rpcs=$work/rpcs
mkdir -m 1777 "$keep_rpcs"
passed=0 failed=0 started='' url=''
RANDOM=$seed

# check WHAT COMMAND...: one test case.
check() {
	local what=$1
	shift
	if "$@" >"$work/check.log" 2>&1; then
		passed=$((passed + 1))
		echo "ok: $what"
	else
		failed=$((failed + 1))
		echo "FAIL: $what"
		tail -n 15 "$work/check.log" | sed 's/^/    /'
	fi
}

not() {
	! "$@"
}

equal() { # GOT WANTED
	[[ $1 == "$2" ]] || {
		echo "got \"$1\", wanted \"$2\""
		return 1
	}
}

says() { # STATUS TEXT COMMAND...: its exit status and a part of what it says
	local status=$1 text=$2 said
	shift 2
	said=$("$@" 2>&1)
	equal $? "$status" && [[ $said == *"$text"* ]] || {
		echo "$said"
		return 1
	}
}

# need WHAT COMMAND...: a step without which nothing else makes sense.
need() {
	local before=$failed
	check "$@"
	[[ $failed == "$before" ]] || exit 1
}

# Waits for something at most SECONDS; that is long, so that no test fails for being slow.
within() { # SECONDS COMMAND...
	local end=$((SECONDS + $1))
	shift
	until "$@"; do
		[[ $SECONDS -lt $end ]] || return 1
		sleep 0.2
	done
}

check_replies() {
	"$build/test/check_reply" "$keep_rpcs"
}

# The directory stays if something failed.
finish() {
	local status=$?
	trap '' HUP INT TERM
	trap - EXIT
	[[ $status == 0 || $failed != 0 ]] || check "the scenario came to its end" false
	hosts_stop
	if [[ -n $started ]]; then
		"${locus_stop[@]}" >/dev/null 2>&1
		check "no process is left" gone "$work" 120
		check "none crashed as it was stopped" not grep 'crashed as it was stopped' "$project/log/supervisor.log"
	fi
	for pid in $(marked "$work"); do
		kill -9 "$pid"
	done
	check "every reply is one that clients take" check_replies
	echo "$scenario: $passed passed, $failed failed"
	if [[ $failed == 0 && $passed != 0 ]]; then
		rm -rf "$work"
		exit 0
	fi
	echo "what is left of it: $work"
	exit 1
}
locus_stop=(locus -p "$project" stop)
trap finish EXIT
trap 'exit 1' HUP INT TERM

# --- a project

# small_project FILES WORKUNITS [OPTION...]: started, with files of 400 kB that are cut into so
# many workunits each.
small_project() {
	local files=$1 parts=$2
	shift 2
	need "a project" project_make "$project" "$@"
	url=$(project_option master_url)
	need "data" "$samples/pulsar_data" --seed "$seed" --files "$files" --samples 100000 --dir "$data"
	started=1
	need "start" project_start
	need "an app" project_app $((trials / parts))
	need "files" locus -p "$project" file add --app pulsar_search --ranges "$parts" "$data"/*
}

new_hosts() { # NUMBER [OPTION...]
	local n=$1 i
	shift
	for ((i = 1; i <= n; i++)); do
		need "host $i" host_new "host$i" "$@"
	done
}

# All workunits are assimilated and every result that was sent is acked: with WORKUNITS in all.
project_done() { # WORKUNITS
	local db did
	db=$(figures) || return 1
	[[ $(value assimilated "$db") == "$1" ]] || return 1
	did=$(account /dev/null)
	[[ $(value acked "$did") == "$(value sent "$db")" ]]
}

no_trigger() {
	equal "$(ls -A "$project/locality_scheduling/need_work" 2>/dev/null
		locus -p "$project" trigger list need_work; locus -p "$project" trigger list claims)" ''
}

# What holds at the end of every scenario, while the project still runs; hosts may ask for more all the time, and the
# generator takes a moment to say that there is none.
check_sound() {
	check "fsck" locus -p "$project" fsck
	check "no trigger is left" within 120 no_trigger
}

# What the hosts received is what the database says was sent to them, and nothing went twice.
check_ledger() {
	: >"$work/wrong"
	account "$work/wrong" >"$work/account"
	check "nothing was sent twice" equal "$(cat "$work/wrong")" ''
	check "the hosts' logs and the database agree" ledger_agrees
}

# Lines "HOST RESULT", of the hosts' logs and of the database.
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

# Pids of a program below this project: its name, as in /proc/PID/comm.
pids_of() { # NAME
	local pid
	for pid in $(marked "$work"); do
		[[ $(cat "/proc/$pid/comm" 2>/dev/null) == "$1" ]] && echo "$pid"
	done
}

runs() { # NAME
	[[ -n $(pids_of "$1") ]]
}
