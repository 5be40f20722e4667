# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# The benchmark's cases. Each has its own hosts, so that no case sees jobs that another case sent.

# --- the reference: locality in the same minutes, because the speed of a machine may change

reference_phases=''
# Measures the reference for half of a case's time; adds its rate to $reference_rates.
reference() { # SERVER
	local first=$((6 * slice + 1)) n=$((slice / 2))
	[[ $1 != *.before ]] || first=$((first + n))
	[[ -n ${load_pid[ref.$1]:-} ]] ||
		load_start "ref.$1" "$1" $first $n --files $((base + 1)):$crowd_files --hold 4 --seconds "$(awk -v s="$seconds" 'BEGIN { print s / 2 }')"
	settle
	load_begin "ref.$1" go
	load_wait "ref.$1"
	reference_phases+=$answer$'\n'
}

# Rate of the case divided by the mean of the reference phases since the last call, before and after it.
of_reference() { # RATE
	awk -v rate="$1" '{ for (i = 2; i <= NF; i++) { split($i, kv, "="); v[kv[1]] += kv[2] } }
		END { printf "%.5f", (v["rpcs"] > v["busy"] ? rate * v["seconds"] / (v["rpcs"] - v["busy"]) : 0) }' <<<"$reference_phases"
	reference_phases=''
}

references_end() {
	local id first
	for id in "${!load_pid[@]}"; do
		[[ $id == ref.* ]] || continue
		load_end "$id"
		first=$((6 * slice + 1))
		[[ $id != *.before ]] || first=$((first + slice / 2))
		sound "$id" bench $first $((slice / 2)) "$id"
	done
}

# Each account gets two of the hosts; with --against each half of the hosts begins with an account's first host.
share_accounts() { # FIRST-HOST HOSTS
	sql_in bench "UPDATE host SET userid = id - (id - $1) % 2, host_cpid = MD5(CONCAT(LPAD(id, 32, '0'), 'user', id - (id - $1) % 2,
		'@example.org')) WHERE id BETWEEN $1 AND $1 + $2 - 1"
}

# From now on workunits of the last hundred files begin with one result, and the app wants two unless a host's version is trusted.
replicate_adaptively() {
	local server
	sql_in bench "UPDATE app SET target_nresults = 2 WHERE id = 1;
		UPDATE workunit SET target_nresults = 1, min_quorum = 1 WHERE fileset_id BETWEEN $files - 99 AND $files AND canonical_resultid = 0"
	for server in "${!dir_of[@]}"; do
		touch "${dir_of[$server]}/reread_db"
	done
}

# --- kinds of cases

# The same as "drive", between two phases of the reference.
compare() { # CASE SERVER FIRST-HOST HOSTS OPTION...
	[[ -n $against ]] || {
		beside=1 drive "$@"
		return
	}
	drive "$@"
}

# One load generator, one server; with --against the other build's server in turn, with the other half of the hosts.
drive() { # CASE SERVER FIRST-HOST HOSTS OPTION...
	local name=$1 server=$2 first=$3 n=$4 i
	shift 4
	if [[ -z $against ]]; then
		load_start own "$server" "$first" "$n" "$@"
		[[ -z ${beside:-} ]] || reference bench
		turns "$name" own "$server"
		[[ -z ${beside:-} ]] || reference bench
		load_end own
		case_line "$name" "${beside:+of_locality=$(quotient "$(of_reference "$(median rpc_s "$work/$name.phases")")" 1)}" own
		sound "$name" "${db_of[$server]}" "$first" "$n" own
		return
	fi
	n=$((n / 2))
	mkdir -p "$work/$name"
	load_start own "$server" "$first" $n "$@"
	load_start other "$server.before" $((first + n)) $n "$@"
	for ((i = 0; i < rounds; i++)); do
		((i % 2 == 0)) || turns "$name/before" other "$server.before"
		turns "$name" own "$server"
		((i % 2 == 1)) || turns "$name/before" other "$server.before"
	done
	load_end own
	load_end other
	case_line "$name" "" own
	case_line "$name/before" "" other
	ratio_line "$name"
	sound "$name" "${db_of[$server]}" "$first" $n own
	sound "$name/before" "${db_of[$server]}" $((first + n)) $n other
}

# Phases that count as one. "few" lasts until all jobs are sent, in several rounds.
turns() { # CASE LOAD SERVER
	local i times=1
	[[ ${1%%/*} != few ]] || times=20
	for ((i = 0; i < times; i++)); do
		[[ $times == 1 ]] || few_jobs
		measure "$1" go "$3" "$2"
	done
}

# Cancels all unsent results, as an administrator and then the transitioner do.
cancel_all() {
	sql_in bench "
	CREATE TEMPORARY TABLE t (id BIGINT PRIMARY KEY) SELECT DISTINCT workunitid AS id FROM result WHERE server_state = 2;
	UPDATE result SET server_state = 5, outcome = 5, ready = NULL WHERE server_state = 2;
	UPDATE workunit w STRAIGHT_JOIN t USING (id) SET w.error_mask = 16, w.transition_time = UNIX_TIMESTAMP() + 864000;
	UPDATE result SET ready = NULL WHERE ready = -9223372036854775807"
}

few_rounds=0
few_jobs() {
	local from=$((100 * few_rounds++))
	sql_in bench "
	INSERT INTO workunit (create_time, appid, name, xml_doc, rsc_fpops_est, rsc_fpops_bound, rsc_memory_bound, rsc_disk_bound,
	    delay_bound, min_quorum, target_nresults, max_error_results, max_total_results, max_success_results, transition_time)
	SELECT UNIX_TIMESTAMP(), 2, CONCAT('few', LPAD($from + seq, 6, '0')), '<workunit>\n</workunit>\n', 1e12, 1e15, 5e7, 2e7, 864000,
	    1, 1, 5, 10, 6, UNIX_TIMESTAMP() + 864000 FROM seq_1_to_100;
	INSERT INTO result (create_time, workunitid, appid, name, server_state, xml_doc_in, ready)
	SELECT create_time, id, appid, CONCAT(name, '_0'), 2, '<result>\n</result>\n', -(appid * 64 + id MOD 64) - 1
	FROM workunit WHERE name BETWEEN CONCAT('few', LPAD($from + 1, 6, '0')) AND CONCAT('few', LPAD($from + 100, 6, '0')) ORDER BY id"
}

# Divides with two decimals; 0 if it cannot.
quotient() { # A B
	awk -v a="$1" -v b="$2" 'BEGIN { printf "%.2f", (b > 0 ? a / b : 0) }'
}

# Many connections at once, for several turns of all of them.
crowd() { # CASE CONNECTIONS FIRST-HOST
	local connections=$2 seconds=$((seconds + $2 / 125))
	drive "$1" bench "$3" $((2 * builds * $2)) --files $((base + 1)):$crowd_files --hold 4
}

# Runs a case that is one sequence of events; with --against once more with the other build.
sequence() { # CASE SERVER FIRST-HOST HOSTS
	"$1" "$1" "$2" "$3" "$build"
	[[ -z $against ]] || {
		mkdir -p "$work/$1"
		"$1" "$1/before" "$2.before" $(($3 + $4)) "$against"
	}
}

# All hosts ask at the same moment; they all fail while no web server runs, then ask again at the same moment.
outage() { # CASE SERVER FIRST-HOST
	local first again more
	load_start own "$2" "$3" $crowd_most --files $((base + 1)):$crowd_files --hold 4
	reference "$2"
	measure "$1" all "$2" own
	first=$answer
	web_server_stop "$2"
	load_begin own down
	load_wait own
	is "$1: all requests fail while no web server runs" "$(value refused "$answer")" $crowd_most
	web_server_start "$2"
	measure "$1" all "$2" own
	again=$answer
	reference "$2"
	load_end own
	more=$(of_reference 1) # 1 / rate
	more="last_turns=$(turns_of "$first" "$more") again_turns=$(turns_of "$again" "$more")"
	more+=" busy_first=$(value busy "$first") busy_again=$(value busy "$again")"
	connections=$crowd_most case_line "$1" "$more" own
	sound "$1" bench "$3" $crowd_most own
}

# Time of a phase in which all hosts asked once, in turns: what they would have taken at the rate of the reference.
turns_of() { # PHASE SECONDS-PER-REQUEST
	awk -v s="$(value seconds "$1")" -v n=$crowd_most -v each="$2" 'BEGIN { printf "%.2f", (each > 0 ? s / n / each : 0) }'
}

# Files for which a generator could make work, but none does.
files_without_work() { # FIRST NUMBER
	local name
	[[ -z $(sql_in bench "SELECT id FROM file WHERE id = $1") ]] || {
		sql_in bench "UPDATE fileset SET gen_next = 0 WHERE id >= $1"
		(cd "${dir_of[bench]}/locality_scheduling/no_work_available" && sql_in bench "SELECT name FROM file WHERE id >= $1" | xargs rm -f)
		return
	}
	sql_in bench "INSERT INTO file (id, name, md5sum, size, create_time)
		SELECT seq, CONCAT('f', LPAD(seq, 6, '0'), '.dat'), '$md5', $size, 1700000000 FROM seq_$1_to_$(($1 + $2 - 1));
		INSERT INTO fileset (id, name, appid, gen_parts, gen_next, create_time) SELECT id, name, 1, 100, 0, create_time FROM file WHERE id >= $1;
		INSERT INTO fileset_file (fileset_id, file_id) SELECT id, id FROM file WHERE id >= $1"
	for name in $(sql_in bench "SELECT name FROM file WHERE id >= $1"); do
		truncate -s $size "${dir_of[bench]}/download/$name"
	done
}

# Waits until the requests that arrived are waiting: the database gets few messages.
all_wait() { # SECONDS-AT-MOST
	local end=$((SECONDS + $1)) now before=0
	sleep 2
	while [[ $SECONDS -lt $end ]]; do
		now=$(sql_in bench "SHOW GLOBAL STATUS LIKE 'Questions'" | cut -f2)
		[[ $((now - before)) -ge 200 ]] || return
		before=$now
		sleep 0.5
	done
	echo "note: not all requests were waiting yet"
}

# Many requests wait for a generator, while other hosts ask.
waiting() { # CASE SERVER FIRST-HOST
	local n=20 before during waiters seconds=$seconds some=$waiting_others alone=$3
	local others=$(($3 + some)) first=$(($3 + 2 * some))
	# The waiting ones take some seconds to arrive; the other hosts have to end before the wait does.
	[[ $seconds -le 5 ]] || seconds=5
	files_without_work $((files + 2)) $n
	load_start alone "$2" "$alone" $some --files $((base + 1)):$crowd_files --hold 4
	mkdir -p "$work/alone/$1"
	measure "alone/$1" go "$2" alone
	before=$answer
	load_end alone
	load_start own "$2" $others $some --files $((base + 1)):$crowd_files --hold 4
	load_start waiters "$2" $first $crowd_most --files $((files + 2)):$n --hold 4 --report 0 --first 0
	load_begin waiters all
	all_wait $((wait_s - 3 - seconds))
	measure "$1" go "$2" own
	during=$answer
	load_wait waiters
	waiters=$answer
	load_end own
	load_end waiters
	case_line "$1" "private_alone_mb=$(awk '$2 > m { m = $2 } END { printf "%.1f", m / 1024 }' "$work/alone/$1.memory") p99_alone_ms=$(value p99 "$before") p99_ratio=$(
		quotient "$(value p99 "$during")" "$(value p99 "$before")") waiters_p50_ms=$(value p50 "$waiters") waiters_busy=$(
		value busy "$waiters") waiters_errors=$(value errors "$waiters")" own
	sound "$1" bench "$alone" $some alone
	sound "$1" bench $others $some own
	sound "$1" bench $first $crowd_most waiters
	no_more_work $((files + 2))
}

# What a generator does when it can make no more of the files from this one on.
no_more_work() { # FIRST
	sql_in bench "UPDATE fileset SET gen_next = gen_parts WHERE id >= $1"
	rm -f "${dir_of[bench]}"/locality_scheduling/need_work/*
	(cd "${dir_of[bench]}/locality_scheduling/no_work_available" && sql_in bench "SELECT name FROM file WHERE id >= $1" | xargs touch)
}

# Two scheduler services, as on two machines, with half of the load each.
two() { # CASE SERVER FIRST-HOST BUILD
	local connections=$((connections / 2)) n=$((slice / 2))
	server "$2.two" bench "$4"
	load_start own "$2" "$3" $n --files $((base + 1)):$crowd_files --hold 4
	load_start second "$2.two" $(($3 + n)) $n --files $((base + 1)):$crowd_files --hold 4
	measure "$1" go "$2 $2.two" own second
	load_end own
	load_end second
	case_line "$1" "" own second
	sound "$1" bench "$3" $n own
	sound "$1" bench $(($3 + n)) $n second
}

# Locality with ten times the rows, on servers of its own.
rows10() {
	local ten rate
	ten=$(awk -v s="$scale" 'BEGIN { print s * 10 }')
	reference bench
	BENCH_ARGS="$given --scale $ten --quick" "$bench/run" "$build" locality >"$work/ten.log" 2>&1 || {
		not_ok "rows10"
		tail -n 5 "$work/ten.log"
	}
	reference bench
	rate=$(value rpc_s "$(grep 'case=locality ' "$work/ten.log")")
	sed -n 's/^bench: case=locality /bench: case=rows10 /p' "$work/ten.log" | sed "s/\$/ of_locality=$(quotient "$(of_reference "$rate")" 1)/" | tee -a "$work/lines"
}

h() { echo $(($1 * slice + 1)) "$slice"; }
run_case() {
	rm -f "$work/$1".{counters,memory,phases,slow}
	case $1 in
	locality) drive locality bench $(h 0) --files 1:$new --hold 4 ;;
	half) compare half bench $(h 1) --files $((new + 1)):$((half - new)) --hold 4 ;;
	fresh) compare fresh bench $(h 2) --forget ;;
	exhausted) compare exhausted bench $(h 3) --files $((half + 1)):$((over - half)) --hold 4 --forget ;;
	onefile) compare onefile bench $(h 4) --files $((files + 1)):1 --hold 1 ;;
	reports) compare reports bench $((8 * slice + 1)) $((2 * slice)) --first 15 --want 0 ;;
	plain) compare plain plain $(h 0) ;;
	one) connections=1 drive one bench $one_hosts 80 --files $((base + 1)):$crowd_files --hold 4 ;;
	shared)
		share_accounts $shared_hosts $slice
		compare shared bench $shared_hosts $slice --files $((base + 1)):$crowd_files --hold 4 --per-account 2
		;;
	adaptive)
		replicate_adaptively
		compare adaptive bench $adaptive_hosts $slice --files $((files - 99)):100 --hold 4
		;;
	idle2) compare idle2 bench $idle2_hosts $slice --files $((base + 1)):$crowd_files --hold 4 --instances 2 ;;
	held*) drive "$1" bench ${held_hosts[${1#held}]} --files $((base + 1)):$crowd_files --hold "${1#held}" ;;
	crowd64) crowd crowd64 64 $crowd64_hosts ;;
	crowd256) crowd crowd256 256 $crowd256_hosts ;;
	crowd500) crowd crowd500 500 $crowd500_hosts ;;
	crowd1000) crowd crowd1000 1000 $crowd1000_hosts ;;
	outage) sequence outage bench $outage_hosts $crowd_most ;;
	waiting) sequence waiting bench $waiting_hosts $((2 * waiting_others + crowd_most)) ;;
	two) sequence two bench $two_hosts $slice ;;
	rows10) rows10 ;;
	nowork) drive nowork bench $(h 5) --report 0 ;;
	few) drive few bench $few_hosts $((builds * connections)) --until 100 --report 64 ;;
	esac
}
