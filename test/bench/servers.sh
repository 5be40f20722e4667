# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# The benchmark's servers: a private MariaDB whose filled data directory is kept, and for each project an Apache and a
# scheduler. "run" sources this file after test/it/lib.sh and its own options.

# --- the databases, filled once for each scale

fill() { # DATABASE LOCALITY SQL...: from standard templates
	local db=$1 locality=$2
	shift 2
	{
		echo "SET GLOBAL innodb_flush_log_at_trx_commit = 0; CREATE DATABASE $db; USE $db;"
		cat "$source/db/schema.sql"
		echo "SET unique_checks = 0, foreign_key_checks = 0;"
		sed "s/@VERSION@/$(schema_version)/
			s/@LOCALITY@/$locality/; s/@HOSTS@/$hosts/g; s/@ALL_FILES@/$((files + 1))/g; s/@FILES@/$files/g
			s/@PARTS@/$parts/g; s/@NEW@/$new/g; s/@HOT@/$hot/g; s/@MD5@/$md5/g; s/@SIZE@/$size/g
			s/@HALF@/$half/g; s/@OVER@/$over/g; s/@DONE_BY@/$((7 * slice + 1))/g; s/@DOERS@/$slice/g
			s/@WUS@/$([[ $locality == 1 ]] && echo $((files * parts)) || echo "$plain")/g" "$@"
	} | mariadb_sql "$db_dir"
}

database() {
	at_end serving_stop
	mariadb_start "$db_dir" --innodb-buffer-pool-size="$pool" --innodb-log-file-size=128M \
		--innodb-flush-log-at-trx-commit=1 --max-connections=500 \
		--thread-handling=pool-of-threads --thread-pool-stall-limit=60 ${innodb[@]+"${innodb[@]}"}
}

# A copy of the filled data directory is kept in the build directory.
databases() {
	local key kept
	key=$(cat "$bench"/fill-*.sql "$source/db/schema.sql" <(echo "$files $new $over $hosts $hot $plain $parts $size") | md5sum | cut -c1-8)
	kept=$build/bench-data/$scale-$key
	mkdir -p "$db_dir/run" && chmod 755 "$work" "$db_dir"
	if [[ -d $kept ]]; then
		cp -a --sparse=always "$kept" "$db_dir/data" || return 1
		[[ $(id -u) != 0 ]] || chown mysql "$db_dir/run"
		database
		return
	fi
	rmdir "$db_dir/run"
	local from=$SECONDS
	echo "filling: $files files of $parts workunits, $hosts hosts, $plain plain workunits"
	database && fill bench 1 "$bench/fill-hosts.sql" "$bench/fill-files.sql" &&
		fill plain 0 "$bench/fill-hosts.sql" "$bench/fill-plain.sql" || return 1
	# A bulk load can fail without an error, so count the rows.
	[[ $(sql_in bench 'SELECT COUNT(*) FROM result') == $((2 * (files * parts + hot))) &&
		$(sql_in plain 'SELECT COUNT(*) FROM result') == $((2 * plain)) ]] || {
		echo "run: the tables are not filled" >&2
		return 1
	}
	mariadb_stop "$db_dir"
	echo "filled in $((SECONDS - from)) s"
	mkdir -p "$build/bench-data" && rm -rf "$build/bench-data/$scale-"* "$kept.tmp" &&
		cp -a --sparse=always "$db_dir/data" "$kept.tmp" && mv "$kept.tmp" "$kept" && database
}

# Reads each index once, because a server that has run for a long time has its pages in memory.
warm() { # DATABASE
	local table index
	sql_in information_schema "SELECT DISTINCT table_name, index_name FROM statistics WHERE table_schema = '$1' AND index_type = 'BTREE'
		AND table_name IN ('result', 'workunit', 'host', 'user')" | while read -r table index; do
		echo "SELECT COUNT(*) FROM $table FORCE INDEX ($index);"
	done | mariadb_sql "$db_dir" "$1" >/dev/null
}

sql_in() { # DATABASE SQL
	mariadb_sql "$db_dir" "$1" -N -B -e "$2"
}

# Waits for the purge of earlier changes, so that a case does not pay for them.
settle() { sql_in bench "SET GLOBAL innodb_max_purge_lag_wait = 0"; }

# --- projects: each has a directory, an Apache and schedulers of its own; several may share a database

declare -A dir_of port_of apache_of schedulers_of db_of

# Starts a server. One whose name is not that of its database shares the files and triggers of the one whose name is.
server() { # NAME DATABASE BUILD
	local name=$1 db=$2 shared locality=1
	[[ $db != plain ]] || locality=0
	programs "$3"
	bare_project "<db_name>$db</db_name><db_user>root</db_user><db_socket>$db_dir/mysql.sock</db_socket>
<uldl_dir_fanout>0</uldl_dir_fanout><locality_scheduling>$locality</locality_scheduling>
<locality_scheduling_wait_period>$wait_s</locality_scheduling_wait_period>
<one_result_per_user_per_wu>1</one_result_per_user_per_wu>$more_config" "$name"
	{ sed -n '/<code_sign_key>/,/<\/code_sign_key>/p' "$request" | grep -v code_sign_key; } >"$project/keys/code_sign_public"
	if [[ $name == "$db" ]]; then
		trigger_dirs
		[[ $locality == 0 ]] || all_generated
	else
		rmdir "$project/download"
		for shared in download locality_scheduling; do
			ln -s "${dir_of[$db]}/$shared" "$project/$shared"
		done
	fi
	apache_start
	more_schedulers
	dir_of[$name]=$project port_of[$name]=$http_port apache_of[$name]=$apache_pid schedulers_of[$name]=$schedulers db_of[$name]=$db
}

# Marks every file as fully generated.
all_generated() {
	sql_in bench 'SELECT name FROM file' >"$work/names"
	(cd "$project/download" && xargs truncate -s $size <"$work/names")
	(cd "$project/locality_scheduling/no_work_available" && xargs touch -d '1 hour ago' <"$work/names")
}

# Copies a build's services to where Apache's account can read them.
programs() { # BUILD
	service_dir=$work/libexec.$(echo "$1" | md5sum | cut -c1-8)
	[[ -d $service_dir ]] && return
	mkdir "$service_dir" && cp "$1/scheduler" "$1/web" "$1/mod_locus.so" "$service_dir" || exit 1
	printf '#!/bin/sh\nexec %s %s\n' "$service_dir/scheduler" "$service_options" >"$service_dir/one-scheduler"
	chmod 755 "$service_dir/one-scheduler"
}

# Starts more schedulers on one socket: they inherit it from a process that holds it.
more_schedulers() {
	# shellcheck disable=SC2154 # services_start sets it
	schedulers=$scheduler_pid
	[[ $processes -gt 1 ]] || return 0
	kill "$scheduler_pid"
	wait "$scheduler_pid" 2>/dev/null
	rm -f "$project/run/scheduler.sock"
	$run_as env LOCUS_PROJECT="$project" cgi-fcgi -start -connect "$project/run/scheduler.sock" "$service_dir/one-scheduler" "$processes"
	wait_for '[[ $(marked "LOCUS_PROJECT=$project" | wc -l) -ge $processes ]]'
	schedulers=$(marked "LOCUS_PROJECT=$project")
	schedulers=${schedulers//$'\n'/ } children+=" $schedulers"
}

web_server_stop() { # SERVER
	kill "${apache_of[$1]}"
	wait "${apache_of[$1]}" 2>/dev/null
}

web_server_start() { # SERVER
	project=${dir_of[$1]} http_port=${port_of[$1]} server_url=http://127.0.0.1:${port_of[$1]}
	no_services=1
	apache_start
	no_services=''
	apache_of[$1]=$apache_pid
}

fsck() { # DATABASE WHEN
	[[ -z $quick ]] || return
	if "$build/tools/locus" -p "$work/$1" fsck >"$work/fsck.log" 2>&1; then
		ok "fsck of $1 $2"
	else
		not_ok "fsck of $1 $2"
		tail -n 5 "$work/fsck.log"
	fi
}
