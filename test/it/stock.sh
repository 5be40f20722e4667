# SPDX-License-Identifier: Apache-2.0
# For scenarios with stock clients, driven by boinccmd; sourced instead of lib.sh.  A project of
# plain jobs whose app is a shell script, conditions that are waited for in the clients' logs and
# in the database, and the judgement of the clients' logs.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh" || exit 1

need "a stock client" command -v boinc
need "its command line" command -v boinccmd

# stock_project [OPTION...]: started; $url is its address.
stock_project() {
	need "a project" project_make "$project" "$@"
	url=$(project_option master_url)
	started=1
	need "start" project_start
}

# The app: waits until there is the file WAIT_FOR, computes for SECONDS, and writes BYTES which its
# input decides, if it has one.  While it waits it heeds what a client says to programs with the
# BOINC API: a client that has to kill them complains.
stock_program() { # FILE
	cat >"$1" <<-'X' && chmod 755 "$1"
		#!/bin/sh
		# stock_app SECONDS BYTES [WAIT_FOR]
		while [ -n "$3" ] && [ ! -e "$3" ]; do
		    grep -qsaE '<(abort|quit)/>' boinc_mmap_file && exit 194
		    sleep 0.2
		done
		sleep "$1"
		from=/dev/null
		if [ -e in ]; then
		    from=$(sed -n 's:.*<soft_link>\(.*\)</soft_link>.*:\1:p' in)
		fi
		{ md5sum <"${from:-in}"; head -c "$2" /dev/zero; } | head -c "$2" >out || exit 1
		echo 0 >boinc_finish_called
	X
}

# stock_templates COPIES [LARGE]: in.xml and out.xml in $work; each job goes to so many hosts, and
# has a large file that hosts keep if LARGE is given.
stock_templates() {
	cat >"$work/in.xml" <<-X
		<input_template>
		${2:+<file_info><sticky/><no_delete/><report_on_rpc/></file_info>}
		<workunit>
		${2:+<file_ref><open_name>in</open_name></file_ref>}
		<command_line>1 100</command_line>
		<rsc_fpops_est>2e9</rsc_fpops_est>
		<rsc_fpops_bound>1e15</rsc_fpops_bound>
		<rsc_memory_bound>1e7</rsc_memory_bound>
		<rsc_disk_bound>5e7</rsc_disk_bound>
		<delay_bound>1000000</delay_bound>
		<min_quorum>$1</min_quorum>
		<target_nresults>$1</target_nresults>
		<max_error_results>3</max_error_results>
		<max_total_results>6</max_total_results>
		<max_success_results>3</max_success_results>
		</workunit>
		</input_template>
	X
	sed 's:<max_nbytes>.*<:<max_nbytes>9000000<:' \
		"$source/samples/pulsar/out.xml" >"$work/out.xml"
}

# stock_app NAME COPIES [LARGE]: without a version.
stock_app() {
	local kind=--no-locality
	[[ -z ${3:-} ]] || kind=--locality
	need "templates of $1" stock_templates "$2" ${3:+"$3"}
	need "app $1" locus -p "$project" app add "$1" $kind --input-template "$work/in.xml" \
		--output-template "$work/out.xml" --validator --assimilator
}

stock_version() { # APP [CLASS]
	local program=$work/$1${2:+.$2}
	need "program" stock_program "$program"
	need "version of $1" locus -p "$project" version add --api-version 7.20.5 "$1" 1.00 \
		"$(platform)${2:+:$2}" "$program"
}

# stock_work APP ARGUMENTS NAME...: a workunit of each name.
stock_work() {
	local app=$1 arguments=$2 name
	shift 2
	for name; do
		need "workunit $name" locus -p "$project" work add "$app" --name "$name" \
			--arguments "$arguments"
	done
}

# Names of the results that a client says to have received, computed or had acked, in order.
tasks() { # NAME EVENT
	events | awk -v host="$1" -v event="$2" '$1 == host && $2 == event { print $3 }'
}

has_acks() { # NAME NUMBER
	[[ $(tasks "$1" acked | sort -u | wc -l) -ge $2 ]]
}

# Like within; and clients make contact every few seconds, whatever they are waiting for.
stock_within() { # SECONDS COMMAND...
	local end=$((SECONDS + $1)) next=$((SECONDS + 5))
	shift
	until "$@"; do
		[[ $SECONDS -lt $end ]] || return 1
		if [[ $SECONDS -ge $next ]]; then
			stock_update
			next=$((SECONDS + 5))
		fi
		sleep 0.2
	done
}

sql_says() { # WANTED SQL: what the database answers, lines and columns parted by blanks
	local said
	said=$(project_sql -e "$2" | tr '\t\n' '  ')
	equal "${said% }" "$1"
}

db_is() { # WHAT WANTED SQL
	check "$1" sql_says "$2" "$3"
}

# Every workunit has a valid result and was handed over.
assimilated() { # NUMBER
	sql_says "$1" 'SELECT COUNT(*) FROM workunit WHERE canonical_resultid > 0 AND assimilate_state = 2' \
		>/dev/null
}

complaints() { # FILE
	grep -Ef <(grep -vE '^(#|$)' "$here/stock-errors") "$1"
}

# Tasks that failed by what their client says, whatever the reason.
failed_tasks() {
	sed -nE 's/.*result state=(COMPUTE_ERROR|ABORTED|UPLOAD_FAILED) for ([^ ]+).*/\2/p
		s/.*Unrecoverable error for task ([^ ]+).*/\1/p' "$hosts"/*/stdoutdae.txt | sort -u
}

# What holds at the end: each client worked, none had a reason to complain, and no other tasks
# failed than these.
check_clients() { # TASK...
	local log name
	check "no task failed${1:+ but those which had to}" equal "$(failed_tasks)" \
		"$(printf '%s\n' "$@" | sort)"
	for log in "$hosts"/*/stdoutdae.txt; do
		name=$(basename "$(dirname "$log")")
		check "$name made contact" grep -q 'Scheduler request completed' "$log"
		check "$name has no complaint" not complaints "$log"
	done
}
