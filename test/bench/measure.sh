# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# What the benchmark measures: counters before and after each phase of a load generator, and the figures of a case.

# --- counters

# Prints lines "NAME VALUE": counters of the database, CPU ticks of the database, Apache and the schedulers; those of
# Apache's ended processes are their parent's.
snapshot() { # SERVER...
	local server top='' schedulers=''
	for server; do
		top+=" ${apache_of[$server]}" schedulers+=" ${schedulers_of[$server]}"
	done
	sql_in bench "SHOW GLOBAL STATUS WHERE Variable_name LIKE 'Com\_%' OR Variable_name IN ('Questions', 'Innodb_os_log_fsyncs',
		'Innodb_data_fsyncs', 'Innodb_os_log_written', 'Innodb_rows_updated', 'Rows_sent', 'Bytes_sent', 'Bytes_received',
		'Innodb_row_lock_waits', 'Innodb_buffer_pool_reads', 'Binlog_commits', 'Innodb_deadlocks') OR Variable_name LIKE 'Handler\_read%'
		OR Variable_name IN ('Handler_update', 'Handler_write', 'Handler_delete', 'Handler_commit')"
	for pid in /proc/[0-9]*/stat; do cat "$pid"; done 2>/dev/null | awk -v db="$(cat "$db_dir/mariadb.pid")" -v top="$top " -v schedulers="$schedulers " '
		{
			pid = $1; name = $0; sub(/^[^(]*\(/, "", name); sub(/\)[^)]*$/, "", name)
			rest = $0; sub(/^.*\) /, "", rest); split(rest, f, " ")
			parent[pid] = f[2]; is[pid] = name; ticks[pid] = f[12] + f[13] + f[14] + f[15]
		}
		function below(p) {
			if (index(schedulers, " " p " ")) return 1
			while (p > 1 && !index(top, " " p " ")) p = parent[p]
			return p > 1
		}
		END {
			for (p in is) {
				if (p == db) part = "db"
				else if (!below(p)) continue
				else part = is[p] == "scheduler" ? "sched" : "apache"
				sum[part] += ticks[p]
			}
			for (part in sum) print "ticks_" part, sum[part]
		}'
}

# Adds the difference of two snapshots to the case's counters. A snapshot counts itself as a question.
difference() { # CASE
	awk 'FILENAME == ARGV[1] { before[$1] = $2; next } { print $1, $2 - before[$1] } END { print "Questions", -1 }' \
		"$work/before" "$work/after" | tee "$work/difference" >>"$work/$1.counters"
}

# Every half second, adds each scheduler process's private memory in kB to the case's samples.
memory_watch() { # CASE SERVER...
	local name=$1 server pid
	shift
	while :; do
		for server; do
			for pid in ${schedulers_of[$server]}; do
				awk -v pid="$pid" '/^Private_(Clean|Dirty)/ { n += $2 } END { print pid, n + 0 }' "/proc/$pid/smaps_rollup" 2>/dev/null
			done
		done >>"$work/$name.memory"
		sleep 0.5
	done
}

# --- load generators: each is warm when it has started, and then measures phase by phase

declare -A load_in load_out load_pid load_log load_from

load_start() { # LOAD SERVER FIRST-HOST HOSTS OPTION...
	local id=$1 server=$2 first=$3 n=$4 in out line
	shift 4
	rm -rf "$work/$id.in" "$work/$id.out" "$work/$id.pairs"
	mkfifo "$work/$id.in" "$work/$id.out" && mkdir "$work/$id.pairs" || exit 1
	"$build/test/bench/load" --url "http://127.0.0.1:${port_of[$server]}/stars_cgi/cgi" --request "$request" \
		--connections "$connections" --seconds "$seconds" --hosts "$first:$n" --file-bytes $size $keep_alive \
		--log "$work/$id.events" --keep "$work/$id.pairs" "$@" <"$work/$id.in" >"$work/$id.out" &
	load_pid[$id]=$!
	# Both ways, so that opening does not wait for a program that has ended.
	exec {in}<>"$work/$id.in" {out}<>"$work/$id.out"
	load_in[$id]=$in load_out[$id]=$out load_log[$id]=${dir_of[$server]}/log/scheduler.log
	read -r -t 300 line <&"$out" || {
		not_ok "a load generator that starts"
		exit 1
	}
	load_from[$id]=$(wc -l <"${load_log[$id]}")
}

# The phase's figures: go, all, down (load.c).
load_begin() { echo "$2" >&"${load_in[$1]}"; } # LOAD PHASE
load_wait() { # LOAD: sets $answer
	answer=''
	read -r -t 300 answer <&"${load_out[$1]}" || not_ok "a load generator that ends its phase"
}

load_end() { # LOAD: leaves its line in LOAD.load, the schedulers' log since its start in LOAD.log
	local in=${load_in[$1]} out=${load_out[$1]} line
	echo end >&"$in"
	read -r -t 300 line <&"$out"
	exec {out}<&- {in}<&-
	wait "${load_pid[$1]}" 2>/dev/null
	echo "$line" >"$work/$1.load"
	tail -n "+$((${load_from[$1]} + 1))" "${load_log[$1]}" >"$work/$1.log"
}

# One phase of one load generator or of several at once. Adds to the counters, samples and phases of the case; $answer is
# the last load generator's.
measure() { # CASE PHASE SERVERS LOAD...
	local name=$1 what=$2 servers=$3 watch slow id
	shift 3
	settle
	[[ -z $statements ]] || slow=$(stat -c %s "$db_dir/data/slow.log")
	[[ -z $perf ]] || perf record -q -o "$perf.$name" -F 499 -g -p "$(cat "$db_dir/mariadb.pid"),$(
		for id in $servers; do echo "${schedulers_of[$id]}"; done | tr ' \n' ',,' | sed 's/,*$//')" -- sleep "$seconds" >/dev/null 2>&1 &
	# shellcheck disable=SC2086 # several
	memory_watch "$name" $servers &
	watch=$!
	# shellcheck disable=SC2086
	snapshot $servers >"$work/before"
	for id; do load_begin "$id" "$what"; done
	for id; do load_wait "$id"; done
	# shellcheck disable=SC2086
	snapshot $servers >"$work/after"
	kill "$watch"
	wait "$watch" 2>/dev/null
	[[ -z $statements ]] || tail -c "+$slow" "$db_dir/data/slow.log" >>"$work/$name.slow"
	difference "$name"
	echo "$answer" "$(awk -v tick="$(getconf CLK_TCK)" '/^ticks_/ { n += $2 } END { print "cpu_s=" n / tick }' "$work/difference")" >>"$work/$name.phases"
}

# Prints the line of a case from what was measured, with more keys at its end.
case_line() { # CASE "KEY=VALUE..." LOAD...
	local name=$1 more=$2 id lost
	shift 2
	lost=$(for id; do grep -o ' lost=[0-9]*' "$work/$id.log"; done | awk -F= '{ n += $2 } END { print n + 0 }')
	for id; do cat "$work/$id.load"; done >"$work/loads"
	{
		cat "$work/$name.counters"
		awk '{ n++; s += $2; if ($2 > m) m = $2; is[$1] } END { for (p in is) k++
			print "private_mean", n ? s / n : 0; print "private_most", m + 0; print "processes", k + 0 }' "$work/$name.memory"
	} >"$work/counters"
	"$bench/figures" "$name" "$work/counters" "$work/loads" "rate=${floor_rate:-0} ms=${floor_ms:-0} lost=$lost connections=$connections" "$more" |
		tee -a "$work/lines" | grep '^bench:'
	[[ -z $statements ]] || "$bench/statements" "$name" "$(sed -n 's/.*rpcs=\([0-9]*\) .*/\1/p' "$work/loads" | awk '{ n += $1 } END { print n }')" <"$work/$name.slow"
}

# Value of a key of the phases so far: the median of the rounds, without those in which the hosts had nothing to ask for.
median() { # KEY FILE
	awk -v key="$1" '{ for (i = 1; i <= NF; i++) { split($i, kv, "="); v[kv[1]] = kv[2] }
		v["rpc_s"] = v["seconds"] > 0 ? (v["rpcs"] - v["busy"]) / v["seconds"] : 0
		v["ms_server"] = v["rpcs"] > 0 ? v["cpu_s"] * 1000 / v["rpcs"] : 0
		if (v["rpcs"] > 0) print v[key] }' "$2" | sort -n | awk '{ x[NR] = $1 } END { print NR == 0 ? 0 : NR % 2 ? x[(NR + 1) / 2] : (x[NR / 2] + x[NR / 2 + 1]) / 2 }'
}

# Prints the ratios of the medians of this build's rounds and of those of the other one.
ratio_line() { # CASE
	local key line="bench: case=$1/ratio rounds=$(wc -l <"$work/$1.phases")"
	for key in rpc_s p50 p99 ms_server; do
		line+=$(awk -v key="${key/#p[59]*/&_ms}" -v a="$(median $key "$work/$1.phases")" -v b="$(median $key "$work/$1/before.phases")" \
			'BEGIN { printf " %s=%.3f", key, (b > 0 ? a / b : 0) }')
	done
	echo "$line" | tee -a "$work/lines"
}

# Checks that the hosts' logs agree with the database.
sound() { # CASE DATABASE FIRST-HOST HOSTS LOAD
	local range="hostid BETWEEN $3 AND $(($3 + $4 - 1))" wrong
	wrong=$(grep -oE '(errors|invalid|twice|again|unknown|overflow)=[1-9][0-9]*' "$work/$5.load")
	[[ -z $wrong && -s $work/$5.load ]] && grep -q rpcs "$work/$5.load" || not_ok "$1: ${wrong//$'\n'/ }"
	sql_in "$2" "SELECT hostid, 'sent', name FROM result WHERE $range
		UNION ALL SELECT hostid, 'acked', name FROM result WHERE $range AND server_state = 5 AND outcome = 1 AND received_time > 0" |
		tr '\t' ' ' | sort >"$work/rows"
	sort "$work/$5.events" | diff - "$work/rows" >"$work/diff" || {
		not_ok "$1: the hosts' logs (<) and the database (>) differ"
		head -n 5 "$work/diff"
	}
	"$build/test/check_reply" "$work/$5.pairs" >"$work/check.log" || {
		not_ok "$1: replies that clients do not take"
		head -n 5 "$work/check.log"
	}
}

# --- the floor

run_floor() { # NAME PART CLAIMS: with half of the results reserved for the floor, the first or the second
	local n=$(((base - over) * parts)) first at_once=$((connections / $3))
	[[ $at_once -ge 2 ]] || at_once=2
	[[ -z $quick ]] || return
	first=$((2 * over * parts + 1 + $2 * n))
	# Results that an earlier run claimed
	sql_in bench "UPDATE result SET server_state = 2, ready = fileset_id, hostid = 0, userid = 0, sent_time = 0, report_deadline = 0,
		app_version_id = 0, flops_estimate = 0, once = NULL, bytes_saved = 0 WHERE id BETWEEN $first AND $((first + n - 1)) AND server_state = 4
		AND hostid BETWEEN $((7 * slice + 1)) AND $((8 * slice))"
	settle
	snapshot >"$work/before"
	rm -f "$work/$1.counters"
	"$build/test/bench/floor" --socket "$db_dir/mysql.sock" --database bench --connections "$at_once" --seconds 2 --claims "$3" \
		--results "$first:$n" --hosts "$((7 * slice + 1)):$slice" >"$work/floor" || not_ok "the floor"
	snapshot >"$work/after"
	difference "$1"
	"$bench/figures" "$1" "$work/$1.counters" "$work/floor" "" "" | tee -a "$work/lines" | grep '^bench:'
	[[ $3 == 1 ]] || return
	floor_rate=$(value rate "$(cat "$work/floor")")
	floor_ms=$(value ms_db "$(tail -n 1 "$work/lines")")
}
