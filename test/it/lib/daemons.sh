# SPDX-License-Identifier: Apache-2.0
# The daemons, one pass at a time, on bare projects; SQL plays the hosts.

app=app # whose work daemons serve; sched-project.sql has another one

run_daemon() { # PROGRAM ARGUMENT...: it must end well
	local program=$1
	shift
	(cd "$project" && exec "$build/$program" "$@") 2>>"$project/log/$program.log" || not_ok "$program $* ended with $?"
}

# One of the daemon's items fails: the daemon itself ends well, and logs an error.
run_daemon_failing() { # PROGRAM ARGUMENT...
	run_daemon "$@"
	expect "$1 logs an error" ' error ' "$project/log/$1.log"
}

# Starts a daemon in the background; its pid is $daemon_pid.
daemon_start() { # PROGRAM ARGUMENT...
	local program=$1
	shift
	${run_as:-} "$build/$program" --project "$project" "$@" 2>>"$project/log/$program.log" &
	daemon_pid=$!
	children="$children $daemon_pid"
}

generate() {
	# shellcheck disable=SC2086 # words
	run_daemon work_generator -1 $generator --ranges 1000 --batch 2
}

transition() {
	run_daemon transitioner -1
}

validate() { # [OPTION...]
	run_daemon validator -1 --app "$app" "$@"
}

assimilate() { # [OPTION...]
	run_daemon assimilator -1 --app "$app" "$@"
}

script() { # NAME SHELL-TEXT: a program in the project's directory
	printf '#!/bin/sh\n%s\n' "$2" >"$project/$1"
	chmod +x "$project/$1"
}

# --- projects

# A fresh project of the app "app", four accounts and four hosts, in a database of its own; this is the directory from
# then on. With ADOPTED=1 the database was a BOINC project's before.
case_project() {
	db_name=t$((case_number += 1))
	project=$work/$db_name
	mkdir -p "$project/templates" "$project/log" "$project/upload" "$project/download"
	mariadb_sql "$db_dir" -e "CREATE DATABASE $db_name" || exit 1
	if [[ -n ${ADOPTED:-} ]]; then
		boinc_schema | sql || exit 1
		"$build/test/sql/check_sql" "$db_dir/mysql.sock" "$db_name" upgrade || exit 1
	else
		sql <"$source/db/schema.sql" || exit 1
		schema_is_current | sql
	fi
	sql "INSERT INTO app (name, user_friendly_name, locality_scheduling) VALUES ('app', 'app', 1);
		INSERT INTO user (email_addr, name, authenticator) VALUES ('1', '1', '1'), ('2', '2', '2'), ('3', '3', '3'), ('4', '4', '4');
		INSERT INTO host (userid) VALUES (1), (2), (3), (4)"
	cat >"$project/config.xml" <<-XML
		<boinc><config>
		<master_url>http://127.0.0.1/t/</master_url>
		<long_name>t</long_name>
		<download_url>http://127.0.0.1/t/download</download_url>
		<upload_url>http://127.0.0.1/t_cgi/file_upload_handler</upload_url>
		<scheduler_url>http://127.0.0.1/t_cgi/cgi</scheduler_url>
		<db_name>$db_name</db_name>
		<db_user>root</db_user>
		<db_socket>$db_dir/mysql.sock</db_socket>
		<locality_scheduling/>
		<locality_store>$store</locality_store>
		<locality_scheduling_wait_period>5</locality_scheduling_wait_period>
		<dont_generate_upload_certificates/>
		</config></boinc>
	XML
	project_templates
	[[ $store == db ]] || trigger_dirs
	generator="--app app --input_template in.xml --output-template out.xml"
	cd "$project" || exit 1
}

project_templates() { # in.xml and out.xml
	mkdir -p "$project/templates"
	cp "$source/samples/pulsar/in.xml" "$source/samples/pulsar/out.xml" "$project/templates/"
}

# Runs cases, each on a project of its own: by default all functions case_NAME of the scenario, in their order.
run_cases() { # [CASE...]
	local c before all
	keep_rpcs='' case_number=0
	mapfile -t all < <(sed -n 's/^case_\([a-z_]*\)().*/\1/p' "$0")
	[[ $# -gt 0 ]] || set -- "${all[@]}"
	database_start
	for c; do
		before=$failed
		"case_$c"
		if [[ $failed == "$before" ]]; then
			echo "passed: $c"
		else
			echo "what the daemons said in $c:"
			tail -n 15 "$project"/log/*.log 2>/dev/null
		fi
		cd "$build" || exit 1
	done
}

# Runs another scenario, or cases of it, on servers of its own, and adds its counts.
run_scenario() { # NAME [CASE...]
	local log=$work/$1.log good bad
	env scenario="$1" source="$source" build="$build" seed="$seed" "$source/test/it/scenarios/$1" "${@:2}" >"$log" 2>&1
	good=$(sed -n "s/^$1: \([0-9]*\) passed, [0-9]* failed$/\1/p" "$log")
	bad=$(sed -n "s/^$1: [0-9]* passed, \([0-9]*\) failed$/\1/p" "$log")
	add_counts "${good:-0}" "${bad:-1}"
	[[ ${bad:-1} == 0 ]] || grep -v '^ok: ' "$log"
}

# --- files

fanout() { # NAME: its directory of 1024
	local hash
	hash=$(printf %s "$1" | md5sum | cut -c 2-8)
	printf %x $((0x$hash % 1024))
}

file_add() { # NAME PARTS: a large file that can be cut into so many workunits
	mkdir -p "$project/download/$(fanout "$1")"
	echo data >"$project/download/$(fanout "$1")/$1"
	sql "INSERT INTO file (name, md5sum, size) VALUES ('$1', MD5('data\n'), 5);
		INSERT INTO fileset (name, appid, gen_parts) VALUES ('$1', 1, $2);
		INSERT INTO fileset_file SELECT s.id, f.id FROM fileset s JOIN file f USING (name) WHERE name = '$1'"
}

output_name() { # RESULT
	sql "SELECT xml_doc_in FROM result WHERE name = '$1'" | sed 's/\\n/\n/g' | sed -n 's/.*<name>\([^<]*\)<\/name>.*/\1/p' | head -n 1
}

output_path() { # RESULT: in the project's directory
	local out
	out=$(output_name "$1")
	echo "upload/$(fanout "$out")/$out"
}

# Puts the output of a result where an upload would.
output_stored() { # RESULT TEXT
	local path
	path=$project/$(output_path "$1")
	mkdir -p "${path%/*}"
	printf %s "$2" >"$path"
}

# What a host reports of its output.
output_reported() { # RESULT TEXT
	printf '<file_info><name>%s</name><md5_cksum>%s</md5_cksum><nbytes>%d</nbytes></file_info>' "$(output_name "$1")" \
		"$(printf %s "$2" | md5sum | cut -c 1-32)" "${#2}"
}

# --- hosts

# Every change that the transitioner must see does this to the result's workunit.
workunit_changed() { # RESULT [TRANSITION-TIME]
	sql "UPDATE workunit w JOIN result r ON r.workunitid = w.id SET w.transition_seq = w.transition_seq + 1,
		w.transition_time = LEAST(w.transition_time, ${2:-UNIX_TIMESTAMP()}) WHERE r.name = '$1'"
}

host_gets() { # RESULT HOST SECONDS: until its deadline
	sql "UPDATE result SET server_state = 4, ready = IF(fileset_id > 0, -9223372036854775807, NULL), hostid = $2, userid = $2,
		app_version_id = 1, sent_time = UNIX_TIMESTAMP(), report_deadline = UNIX_TIMESTAMP() + $3
		WHERE name = '$1' AND server_state = 2"
	workunit_changed "$1" "UNIX_TIMESTAMP() + $3"
}

host_does() { # RESULT HOST TEXT: gets, computes, uploads and reports it
	host_gets "$1" "$2" 1000
	output_stored "$1" "$3"
	sql "UPDATE result SET server_state = 5, outcome = 1, client_state = 5, received_time = UNIX_TIMESTAMP(),
		xml_doc_out = '$(output_reported "$1" "$3")' WHERE name = '$1' AND server_state = 4"
	workunit_changed "$1"
}

host_fails() { # RESULT
	sql "UPDATE result SET server_state = 5, outcome = 3, validate_state = 2, client_state = 3, exit_status = 1,
		received_time = UNIX_TIMESTAMP() WHERE name = '$1' AND server_state = 4"
	workunit_changed "$1"
}
