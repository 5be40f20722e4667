# SPDX-License-Identifier: Apache-2.0
# The project's database, without any program of Locus.

# The database on the server in $db_dir that the scenario has started; '' if the project has a server of its own.
db_name=''

# Prints SQL with the programs' time for the server's, whose clock stays real if LOCUS_YEAR moves theirs.
sql_by_our_clock() { # [SQL]: by default from standard input, line by line as it comes
	if [[ $# == 0 ]]; then
		sed -u "s/unix_timestamp()/(unix_timestamp() + ${LOCUS_AHEAD:-0})/Ig"
	else
		sql_by_our_clock <<<"$1"
	fi
}

our_clock() { # prints the programs' time, s since 1970
	echo $(($(date +%s) + ${LOCUS_AHEAD:-0}))
}

sql() { # [SQL]: by default from standard input; rows without a header
	local words=(-N)
	if [[ $# == 0 && -n ${LOCUS_AHEAD:-} ]]; then
		sql_by_our_clock | LOCUS_AHEAD='' sql
		return
	fi
	[[ $# == 0 ]] || words+=(-e "$(sql_by_our_clock "$1")")
	if [[ -n $db_name ]]; then
		mariadb_sql "$db_dir" "$db_name" "${words[@]}"
	else
		as_owner "$(command -v mariadb || command -v mysql)" --no-defaults -B --socket="$(project_socket)" \
			--user="$(project_option db_user)" "$(project_option db_name)" "${words[@]}"
	fi
}

sql_count() { # TABLE [WHERE ...]
	sql "SELECT COUNT(*) FROM $1"
}

sql_none() { # WHAT SQL: a test case; the query finds no row
	local found
	found=$(sql "$2" 2>&1) || found="no answer: $found"
	is "$1" "$(head -n 10 <<<"$found")" ''
}

sql_finds() { # SQL: a condition
	[[ -n $(sql "$1") ]]
}

schema_version() { # of a database of this version
	sed -n 's/.*SCHEMA_VERSION = \([0-9]*\).*/\1/p' "$source/db/schema.h"
}
schema_is_current() { # prints SQL: what a program that opens the database looks for
	local version
	version=$(schema_version)
	echo "INSERT INTO locus_schema (id, version, change_time) VALUES (1, $version, 1) ON DUPLICATE KEY UPDATE version = $version;"
}
sched_project() { # prints SQL: a small project in empty tables
	schema_is_current
	cat "$source/test/it/sched-project.sql"
}

# Counts the workunits that SQL has made or changed, in the project in $project: what an adoption does with rows that no
# transitioner of this version has handled.
count_work() {
	sql "UPDATE workunit SET tally = 0; DELETE FROM work_tally; UPDATE locus_schema SET version = 0"
	"$build/tools/locus" -p "$project" schema upgrade >"$work/counted" 2>&1 || cat "$work/counted"
}

# --- what scenarios of many requests keep beside the project's tables

# Table t_claim has a row for each time that a result left UNSENT, t_given_up one for each that was given up while it
# was in progress.
watch_claims() {
	sql "CREATE TABLE t_claim (id INT AUTO_INCREMENT PRIMARY KEY, result_id BIGINT, at DOUBLE, KEY (result_id));
		CREATE TABLE t_given_up (result_id BIGINT PRIMARY KEY);
		CREATE TRIGGER t_claimed AFTER UPDATE ON result FOR EACH ROW
			INSERT INTO t_claim (result_id, at) SELECT NEW.id, UNIX_TIMESTAMP(SYSDATE(6)) FROM DUAL
			WHERE OLD.server_state = 2 AND NEW.server_state <> 2;
		CREATE TRIGGER t_gave_up AFTER UPDATE ON result FOR EACH ROW
			INSERT IGNORE INTO t_given_up SELECT NEW.id FROM DUAL WHERE OLD.server_state = 4 AND NEW.outcome IN (4, 7)"
}

unwatch_claims() {
	sql "DROP TRIGGER t_claimed; DROP TRIGGER t_gave_up; DROP TABLE t_claim, t_given_up"
}

# Finds workunits with another number of results than they want; those given up and reported after all are extra.
not_exactly() { # [SQL-CONDITION]
	echo "SELECT w.name, w.target_nresults, COUNT(*) n, SUM(r.outcome IN (3, 4, 6, 7)) bad,
		SUM(r.outcome = 1 AND r.id IN (SELECT result_id FROM t_given_up)) late FROM workunit w JOIN result r ON r.workunitid = w.id
		WHERE w.error_mask = 0 ${1:+AND $1} GROUP BY w.id
		HAVING n - bad NOT BETWEEN w.target_nresults AND w.target_nresults + late"
}

# Each result that left UNSENT did so once.
check_claimed_once() {
	sql_none "no result left UNSENT twice" "SELECT result_id FROM t_claim GROUP BY result_id HAVING COUNT(*) > 1"
}
