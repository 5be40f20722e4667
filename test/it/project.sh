# SPDX-License-Identifier: Apache-2.0
# A project with hosts of its own, for ./demo and the scenarios; to be sourced.  The caller sets
# $source (top of the tree), $build (a build directory with what was installed in inst/), and
# for the functions about one project $project (its directory) and $hosts (of its hosts).

PATH=$build/inst/bin:$PATH
samples=$build/samples/pulsar
# The database server among the processes; LOCUS_TEST_MYSQLD: mariadb.sh.
db_server=mariadbd
[[ -z ${LOCUS_TEST_MYSQLD:-} ]] || db_server=mysqld
here=$source/test/it

# Values from "key=value key=value ...".
value() { # KEY TEXT
	[[ " $2 " =~ " $1="([^ ]*)" " ]] && echo "${BASH_REMATCH[1]}"
}

# A process is known by its pid and its start time.
start_time() { # PID
	local stat
	stat=$(cat "/proc/$1/stat" 2>/dev/null) || return 1
	stat=${stat##*) }
	# shellcheck disable=SC2086
	set -- $stat
	[[ $1 != Z ]] && echo "${20}"
}

# Pids of the processes that carry TEXT in the environment they started with, this one left out.
# All that a project and its hosts start do: the supervisor and Apache see to that, and we.
marked() { # TEXT
	local pid
	for pid in $(grep -lsaFe "$1" /proc/[0-9]*/environ | cut -d/ -f3); do
		[[ $pid != "$$" ]] && ! cmp -s "/proc/$pid/cmdline" "/proc/$$/cmdline" && echo "$pid"
	done
}

# Waits until nothing that is marked runs, at most SECONDS; then names what is left.
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

# Not by the seed: scenarios with one seed run beside each other.
free_port() {
	local port
	while :; do
		port=$((20000 + SRANDOM % 12000))
		(exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null || break
	done
	echo "$port"
}

platform() {
	case $(uname -m) in
	x86_64) echo x86_64-pc-linux-gnu ;;
	i?86) echo i686-pc-linux-gnu ;;
	aarch64) echo aarch64-unknown-linux-gnu ;;
	*) echo "$(uname -m)-unknown-linux-gnu" ;;
	esac
}

# --- the project

# project_make DIR OPTION...: with locality scheduling; schedulers keep what they answer in $keep_rpcs,
# if that is set.
project_make() {
	local dir=$1
	shift
	locus create stars --here "$dir" --set locality_scheduling=1 \
		${LOCUS_TEST_MYSQLD:+--set "private_db_server=$LOCUS_TEST_MYSQLD"} \
		--set one_result_per_user_per_wu=1 \
		${keep_rpcs:+--set "debug_req_reply_dir=$keep_rpcs"} \
		${keep_rpcs:+--set debug_req_reply_max_bytes=2000000000} "$@"
}

trials=2000

# project_app SPAN [OPTION...]: the app of samples/pulsar, for workunits of SPAN trial frequencies
# each; made by the built-in generator if there are no options that say how else.
project_app() {
	local span=$1 templates=$build/templates.$$
	shift
	[[ $# -gt 0 ]] || set -- --generator="--ranges $trials"
	mkdir -p "$templates" &&
		sed "s:<rsc_fpops_est>.*<:<rsc_fpops_est>$((2500000 * span))<:" \
			"$source/samples/pulsar/in.xml" >"$templates/in.xml" &&
		locus -p "$project" app add pulsar_search --name "Pulsar search" \
			--input-template "$templates/in.xml" \
			--output-template "$source/samples/pulsar/out.xml" \
			"$@" --validator --assimilator="--copy-to results" &&
		locus -p "$project" version add pulsar_search 1.00 "$(platform)" \
			"$samples/pulsar_search"
	local ok=$?
	rm -rf "$templates"
	return $ok
}

project_start() { # with a mark on the supervisor too
	LOCUS_RUN=$project locus -p "$project" start 7>&-
}

supervisor_pid() {
	[[ -e $project/run/state.json ]] &&
		sed -n '/"supervisor"/,/}/s/.*"pid": *\([0-9]*\).*/\1/p' "$project/run/state.json"
}

project_option() { # NAME: its value in config.xml
	sed -n "s:.*<$1>\(.*\)</$1>.*:\1:p" "$project/config.xml"
}

project_socket() { # of its database
	local socket
	socket=$(project_option db_socket)
	[[ $socket == /* ]] || socket=$project/$socket
	echo "$socket"
}

# What belongs to root's project runs as its account.
as_owner() { # COMMAND...
	local owner
	owner=$(stat -c %U "$project/config.xml")
	if [[ $(id -un) == "$owner" ]]; then
		"$@"
	else # its files may be below directories that only root may enter
		setpriv --reuid="$owner" --regid="$(id -g "$owner")" --init-groups \
			--inh-caps=+dac_override --ambient-caps=+dac_override -- "$@"
	fi
}

# What the database says, on one line: made= valid= assimilated= sent= hits= bytes_needed=
# bytes_saved=
figures() {
	locus -p "$project" -o json status | awk '
	$2 == "{" { part = $1 }
	$2 ~ /^[0-9]+,?$/ { has[part $1] = has[$1] = $2 + 0 }
	END {
		if (!(("\"results\":" "\"sent\":") in has)) exit 1 # the database does not answer
		printf "made=%d valid=%d assimilated=%d sent=%d hits=%d bytes_needed=%.0f bytes_saved=%.0f\n",
		    has["\"workunits\":\"total\":"], has["\"workunits\":\"with_canonical\":"],
		    has["\"workunits\":\"assimilated\":"], has["\"results\":\"sent\":"],
		    has["\"hits\":"], has["\"bytes_needed\":"], has["\"bytes_saved\":"]
	}'
}

# SQL from standard input or after -e, without any program of ours.
project_sql() { # [OPTION...]
	as_owner "$(command -v mariadb || command -v mysql)" --no-defaults -N -B --socket="$(project_socket)" \
		--user="$(project_option db_user)" "$(project_option db_name)" "$@"
}

# Lines "HOST RESULT" of all that was ever sent.
ledger() {
	project_sql <"$here/ledger.sql"
}

# --- hosts: one directory each, in $hosts; hostN belongs to the user hostN@example.org

host_key() { # NAME: makes its user
	locus -p "$project" user add "$1@example.org"
}

host_start() { # NAME [OPTION...]: a locus-client; its user must be there, its key in $hosts/NAME.key
	local name=$1
	shift
	LOCUS_HOST=$hosts/$name locus-client --dir "$hosts/$name" --url "$url" \
		--key "$(cat "$hosts/$name.key")" --platform "$(platform)" --ncpus 1 \
		--backoff 1:4 --buffer 1:2 "$@" >>"$hosts/$name.out" 2>&1 </dev/null 7>&- &
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

# --- stock clients: a data directory each, asked to make contact every few seconds

stock_ctl() { # NAME COMMAND...
	local dir=$hosts/$1
	shift
	(cd "$dir" && timeout 20 boinccmd --host "127.0.0.1:$(cat gui_port)" \
		--passwd "$(cat gui_rpc_auth.cfg)" "$@" 2>&1)
}

# Runs, attached to nothing yet.  OPTIONS are more of cc_config.xml's.
stock_start() { # NAME [OPTIONS]
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
		--allow_multiple_clients --no_info_fetch --redirectio >/dev/null 2>&1 </dev/null 7>&-) &
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

stock_new() { # NAME [OPTIONS]
	mkdir -p "$hosts" && host_key "$1" >"$hosts/$1.key" && stock_start "$@" && stock_attach "$1"
}

stock_update() { # all of them, in turn
	local name
	for name in $(host_names); do
		stock_ctl "$name" --project "$url" update >/dev/null
	done
}

# --- what the hosts say

# Events of all hosts in the form that account.awk reads.
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

sizes() { # of the large files, all in $data
	find "$data" -type f -printf 'size %P %s\n'
}

# The figures of all hosts; what is wrong goes to the file WRONG.
account() { # WRONG
	{ sizes; events; } | awk -v wrong="$1" -f "$here/account.awk"
}
