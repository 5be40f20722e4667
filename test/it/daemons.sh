# shellcheck shell=sh
# SPDX-License-Identifier: Apache-2.0
# What the scenario 11-daemons stands on: a project directory with a database and an app, hosts played by SQL,
# and checks that are counted.

failures=0 checks=0
bad() { # a check that failed, or what stands for one
	failures=$((failures + 1))
	echo "FAIL: $1"
}
is() { # WHAT GOT WANTED
	checks=$((checks + 1))
	[ "$2" = "$3" ] && return
	bad "$1: got \"$2\", wanted \"$3\""
}
has() { # WHAT TEXT PART
	checks=$((checks + 1))
	case $2 in *"$3"*) return ;; esac
	bad "$1: \"$3\" is not in \"$2\""
}
hasnt() { # WHAT TEXT PART
	checks=$((checks + 1))
	case $2 in *"$3"*) bad "$1: \"$3\" is in \"$2\"" ;; esac
}
wait_for() { # CONDITION, for at most five minutes
	tries=0
	checks=$((checks + 1))
	until eval "$1"; do
		tries=$((tries + 1))
		[ $tries -lt 6000 ] || { bad "waiting for $1"; return 1; }
		sleep 0.05
	done
}

sql() {
	mariadb_sql "$top" "$db" -N -e "$1"
}
run() { # a daemon that must end well
	prog=$1
	shift
	checks=$((checks + 1))
	"$build/$prog" "$@" 2>>"log/$prog.log" || bad "$prog $* ended with $?"
}
# A daemon one of whose items fails: the daemon itself ends well, and says what.
run_bad() {
	run "$@"
	checks=$((checks + 1))
	grep -q " error " "log/$1.log" || bad "$1 logged no error"
}
generate() {
	# shellcheck disable=SC2086 # words
	run work_generator -1 $generator --ranges 1000 --batch 2
}
transition() { run transitioner -1; }
validate() { run validator -1 --app app; }
assimilate() { run assimilator -1 --app app; }
# --- triggers in $store, dir or db, without any program of ours

store=${store:-dir}
column() { # KIND
	case $1 in
	file_working_set) echo work_available ;;
	files_no_work) echo working_set_removal ;;
	*) echo "$1" ;;
	esac
}
raise() { # KIND FILE...
	kind=$1
	shift
	for name; do
		if [ "$store" = dir ]; then
			touch "locality_scheduling/$kind/$name"
		else
			sql "INSERT INTO sched_trigger (fileset_id, $(column $kind), $(column $kind)_time)
				SELECT id, 1, UNIX_TIMESTAMP() FROM fileset WHERE name = '$name'
				ON DUPLICATE KEY UPDATE $(column $kind) = 1"
		fi
	done
}
lower() { # KIND FILE
	if [ "$store" = dir ]; then
		rm "locality_scheduling/$1/$2"
	else
		sql "UPDATE sched_trigger SET $(column $1) = 0 WHERE fileset_id = (SELECT id FROM fileset WHERE name = '$2')"
	fi
}
listed() { # KIND: names, a claim of need_work F as .claim-F
	if [ "$store" = dir ]; then
		ls -A "locality_scheduling/$1"
	else
		[ "$1" != need_work ] || sql "SELECT CONCAT('.claim-', name) FROM sched_trigger t
			JOIN fileset s ON s.id = t.fileset_id WHERE claim_time > 0 ORDER BY name"
		sql "SELECT name FROM sched_trigger t JOIN fileset s ON s.id = t.fileset_id WHERE $(column $1) ORDER BY name"
	fi
}
claim_left() { # FILE [OWNER [SECONDS]]: by an instance of the generator that died; dir tells no owner and no age
	if [ "$store" = dir ]; then
		touch "locality_scheduling/need_work/.claim-$1"
	else
		sql "INSERT INTO sched_trigger (fileset_id, claim_time, claim_owner)
			SELECT id, UNIX_TIMESTAMP() - ${3:-0}, '${2:-$(hostname)/work_generator-app}' FROM fileset WHERE name = '$1'
			ON DUPLICATE KEY UPDATE claim_time = VALUES(claim_time), claim_owner = VALUES(claim_owner)"
	fi
}
trigger() { raise need_work "$1"; }
script() { # NAME BODY
	printf '#!/bin/sh\n%s\n' "$2" >"$1"
	chmod +x "$1"
}

# A fresh project and database; ends in its directory.  With ADOPTED=1 the database was a BOINC project's before.
project_new() {
	db=t$case_number
	mariadb_sql "$top" <<-SQL
		CREATE DATABASE $db;
		USE $db;
		$([ -n "${ADOPTED:-}" ] && boinc_schema || cat "$source/db/schema.sql");
	SQL
	if [ -n "${ADOPTED:-}" ]; then
		"$build/test/sql/check_sql" "$top/mysql.sock" $db upgrade || exit 1
	else
		sql "INSERT INTO locus_schema (id, version, change_time) VALUES (1, 8, 1)"
	fi
	mariadb_sql "$top" $db <<-SQL
		INSERT INTO app (name, user_friendly_name, locality_scheduling) VALUES ('app', 'app', 1);
		INSERT INTO user (email_addr, name, authenticator) VALUES ('1', '1', '1'), ('2', '2', '2'), ('3', '3', '3'), ('4', '4', '4');
		INSERT INTO host (userid) VALUES (1), (2), (3), (4);
	SQL
	mkdir -p "$top/$db/templates" "$top/$db/log" && cd "$top/$db" || exit 1
	cat >config.xml <<-XML
		<boinc><config>
		<master_url>http://127.0.0.1/t/</master_url>
		<long_name>t</long_name>
		<download_url>http://127.0.0.1/t/download</download_url>
		<upload_url>http://127.0.0.1/t_cgi/file_upload_handler</upload_url>
		<scheduler_url>http://127.0.0.1/t_cgi/cgi</scheduler_url>
		<db_name>$db</db_name>
		<db_user>root</db_user>
		<db_socket>$top/mysql.sock</db_socket>
		<locality_scheduling/>
		<locality_store>$store</locality_store>
		<locality_scheduling_wait_period>5</locality_scheduling_wait_period>
		<dont_generate_upload_certificates/>
		</config></boinc>
	XML
	cp "$source/samples/pulsar/in.xml" "$source/samples/pulsar/out.xml" templates/
	mkdir -p upload download
	[ $store = db ] || mkdir -p locality_scheduling/need_work locality_scheduling/no_work_available \
		locality_scheduling/file_working_set locality_scheduling/files_no_work
	generator="--app app --input_template in.xml --output-template out.xml"
}

fanout() { # NAME: its directory of 1024
	hash=$(printf %s "$1" | md5sum | cut -c 2-8)
	printf %x $((0x$hash % 1024))
}
file_add() { # NAME PARTS
	mkdir -p "download/$(fanout "$1")"
	echo data >"download/$(fanout "$1")/$1"
	sql "INSERT INTO file (name, md5sum, size) VALUES ('$1', MD5('data\n'), 5);
		INSERT INTO fileset (name, appid, gen_parts) VALUES ('$1', 1, $2);
		INSERT INTO fileset_file SELECT s.id, f.id FROM fileset s JOIN file f USING (name) WHERE name = '$1'"
}

touch_wu() { # RESULT: what every change that the transitioner must see does
	sql "UPDATE workunit w JOIN result r ON r.workunitid = w.id SET w.transition_seq = w.transition_seq + 1,
		w.transition_time = LEAST(w.transition_time, ${2:-UNIX_TIMESTAMP()}) WHERE r.name = '$1'"
}
claim() { # RESULT HOST SECONDS
	sql "UPDATE result SET server_state = 4, ready = IF(fileset_id > 0, -9223372036854775807, NULL), hostid = $2, userid = $2, app_version_id = 1,
		sent_time = UNIX_TIMESTAMP(), report_deadline = UNIX_TIMESTAMP() + $3 WHERE name = '$1' AND server_state = 2"
	touch_wu "$1" "UNIX_TIMESTAMP() + $3"
}
output_name() {
	sql "SELECT xml_doc_in FROM result WHERE name = '$1'" | sed 's/.*<name>\([^<]*\)<\/name>.*/\1/'
}
output_path() { # RESULT
	out=$(output_name "$1")
	echo "upload/$(fanout "$out")/$out"
}
report() { # RESULT HOST WORDS: computed, uploaded and reported
	claim "$1" "$2" 1000
	path=$(output_path "$1")
	mkdir -p "${path%/*}"
	printf %s "$3" >"$path"
	sql "UPDATE result SET server_state = 5, outcome = 1, client_state = 5, received_time = UNIX_TIMESTAMP(),
		xml_doc_out = '<file_info><name>${path##*/}</name><md5_cksum>$(md5sum <"$path" | cut -c 1-32)</md5_cksum><nbytes>${#3}</nbytes></file_info>'
		WHERE name = '$1' AND server_state = 4"
	touch_wu "$1"
}
fail() { # RESULT HOST
	sql "UPDATE result SET server_state = 5, outcome = 3, validate_state = 2, client_state = 3, exit_status = 1,
		received_time = UNIX_TIMESTAMP() WHERE name = '$1' AND server_state = 4"
	touch_wu "$1"
}

main() {
	top=$(mktemp -d /tmp/locus-daemons.XXXXXX) || exit 1
	chmod 755 "$top"
	trap 'mariadb_stop "$top"; rm -rf "$top"' EXIT
	trap 'exit 1' INT TERM HUP
	mariadb_start "$top" || exit 1
	[ $# -gt 0 ] || set -- life timeout bad_output commands crash ledger seed_generator \
		late dry_run bad_item strangers instances outage race die_asking die_database die_between die_anywhere die_chunks die_moving kill
	case_number=0
	for c in "$@"; do
		case_number=$((case_number + 1))
		was=$failures
		"case_$c"
		if [ $failures -eq $was ]; then
			echo "ok: $c"
		else
			echo "what the daemons said in $c:"
			tail -n 15 log/*.log 2>/dev/null
		fi
		cd "$build" || exit 1
	done
	echo "${scenario:-$(basename "$0")}: $((checks - failures)) passed, $failures failed"
	[ $failures -eq 0 ]
}
