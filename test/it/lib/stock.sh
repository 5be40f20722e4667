# SPDX-License-Identifier: Apache-2.0
# Stock clients, driven by boinccmd: a data directory each in $hosts, beside those of locus-clients. ./demo uses the
# first part. The second is for scenarios: a project of plain jobs whose app is a shell script, conditions in the
# clients' logs and in the database, and the verdict on the clients' logs.

stock_ctl() { # NAME COMMAND...
	local dir=$hosts/$1
	shift
	(cd "$dir" && timeout 20 boinccmd --host "127.0.0.1:$(cat gui_port)" \
		--passwd "$(cat gui_rpc_auth.cfg)" "$@" 2>&1)
}

# Starts a client that is attached to no project. XML is more for the options of cc_config.xml.
stock_start() { # NAME [XML]
	local dir=$hosts/$1 i
	mkdir -p "$dir" && free_port >"$dir/gui_port"
	printf %s "$SRANDOM" >"$dir/gui_rpc_auth.cfg"
	chmod 600 "$dir/gui_rpc_auth.cfg"
	cat >"$dir/cc_config.xml" <<-X
		<cc_config><log_flags><task_debug>1</task_debug><file_xfer>1</file_xfer>
		<sched_ops>1</sched_ops><sched_op_debug>1</sched_op_debug><unparsed_xml>1</unparsed_xml></log_flags>
		<options><allow_multiple_clients>1</allow_multiple_clients>
		<skip_cpu_benchmarks>1</skip_cpu_benchmarks><dont_contact_ref_site>1</dont_contact_ref_site>
		<report_results_immediately>1</report_results_immediately>
		${2:-<ncpus>1</ncpus>}</options></cc_config>
	X
	cat >"$dir/global_prefs_override.xml" <<-X
		<global_preferences><run_if_user_active>1</run_if_user_active>
		<run_gpu_if_user_active>1</run_gpu_if_user_active>
		<run_on_batteries>1</run_on_batteries><suspend_cpu_usage>0</suspend_cpu_usage>
		<work_buf_min_days>0.0001</work_buf_min_days>
		<work_buf_additional_days>0.0001</work_buf_additional_days>
		<disk_min_free_gb>0.01</disk_min_free_gb></global_preferences>
	X
	(cd "$dir" && LOCUS_HOST=$dir exec boinc --dir "$dir" --gui_rpc_port "$(cat gui_port)" \
		--allow_multiple_clients ${stock_feeds---no_info_fetch} --redirectio >/dev/null 2>&1 </dev/null 7>&-) &
	echo $! >"$dir.pid"
	for ((i = 0; i < 600; i++)); do
		stock_ctl "$1" --client_version | grep -q 'Client version' && return
		sleep 0.5
	done
	return 1
}

stock_attach() { # NAME: by the key in $hosts/NAME.key
	stock_ctl "$1" --project_attach "$url" "$(cat "$hosts/$1.key")"
}

stock_new() { # NAME [XML]
	mkdir -p "$hosts" && host_key "$1" >"$hosts/$1.key" && stock_start "$@" && stock_attach "$1"
}

stock_update() { # all of them, in turn, contact their project
	local name
	for name in $(host_names); do
		[[ ! -e $hosts/$name/gui_port ]] || stock_ctl "$name" --project "$url" update >/dev/null
	done
}

# --- for scenarios

stock_needed() {
	need "a stock client" command -v boinc
	need "its command line" command -v boinccmd
}

stock_project() { # [OPTION...]
	stock_needed
	project_up "$@"
}

# The app: waits until the file WAIT_FOR exists, computes for SECONDS, and writes BYTES that depend on its input, if it
# has one. While it waits it obeys the client's messages to programs with the BOINC API: a client that has to kill a
# program complains.
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

# Makes in.xml and out.xml in $work: each workunit has RESULTS results, and with LARGE a large file that hosts keep.
stock_templates() { # RESULTS [LARGE]
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

stock_app() { # NAME RESULTS [LARGE]: without a version
	local kind=--no-locality
	[[ -z ${3:-} ]] || kind=--locality=file
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

stock_work() { # APP ARGUMENTS NAME...: a workunit of each name
	local app=$1 arguments=$2 name
	shift 2
	for name; do
		need "workunit $name" locus -p "$project" work add "$app" --name "$name" \
			--arguments "$arguments"
	done
}

# Names of the results that a client has received, computed or had acknowledged by its log, in order.
tasks() { # NAME EVENT
	events | awk -v host="$1" -v event="$2" '$1 == host && $2 == event { print $3 }'
}

has_acks() { # NAME NUMBER
	[[ $(tasks "$1" acked | sort -u | wc -l) -ge $2 ]]
}

# Like within, and every few seconds the clients contact their project, whatever they are waiting for.
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

assimilated() { # WORKUNITS: so many have a canonical result and are assimilated
	sql_says "$1" 'SELECT COUNT(*) FROM workunit WHERE canonical_resultid > 0 AND assimilate_state = 2' \
		>/dev/null
}

complaints() { # FILE
	grep -Ef <(grep -vE '^(#|$)' "$here/stock-errors") "$1"
}

# Tasks that failed by their clients' logs, whatever the reason.
failed_tasks() {
	sed -nE 's/.*result state=(COMPUTE_ERROR|ABORTED|UPLOAD_FAILED) for ([^ ]+).*/\2/p
		s/.*Unrecoverable error for task ([^ ]+).*/\1/p' "$hosts"/*/stdoutdae.txt | sort -u
}

# What holds at the end: each client made contact, none had a reason to complain, and only the named tasks failed.
check_clients() { # TASK...
	local log name
	is "no task failed${1:+ but those which had to}" "$(failed_tasks)" "$(printf '%s\n' "$@" | sort)"
	for log in "$hosts"/*/stdoutdae.txt; do
		name=$(basename "$(dirname "$log")")
		expect "$name made contact" 'Scheduler request completed' "$log"
		check "$name has no complaint" not complaints "$log"
	done
}
