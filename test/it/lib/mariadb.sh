# shellcheck shell=sh
# SPDX-License-Identifier: Apache-2.0
# A private MariaDB server for tests: a unix socket only, everything in one directory. POSIX shell, as test/sql/check-sql
# sources it too.
#
#   mariadb_start DIR [SERVER-OPTION...]  starts a server on DIR/mysql.sock; makes DIR/data unless it exists; the pid is in
#                                         DIR/mariadb.pid
#   mariadb_stop DIR                      ends it, with SIGKILL if necessary; DIR stays
#   mariadb_sql DIR [DATABASE [OPTION...]]  the client, as root, SQL from standard input
#   mariadb_session DIR [DATABASE [OPTION...]]  the same, but runs each statement as it arrives; no tables seq_1_to_8
#
# LOCUS_TEST_MYSQLD in the environment is the path of MySQL's mysqld, which then takes the place of MariaDB;
# test/it/mysqld-of-root makes one from a MySQL below another root directory. Server options that it does not know are
# ignored. "make check-mysql MYSQL_ROOT=DIR" runs statements, demo and scenarios on it.
#
# Temporary tables are in the directory too: a starting server removes those that it finds in its tmpdir, so servers
# must not share /tmp.
#
# root has no password on that socket. The server never runs as root: if we are root, it runs as the account mysql. A
# second start on the same DIR keeps the data.

PATH=$PATH:/usr/sbin:/sbin

_mariadb_fail() {
	echo "mariadb: $1" >&2
	[ ! -s "$2" ] || tail -n 20 "$2" >&2
	return 1
}

_mariadb_init() { # DIR
	set -- "$1" ''
	if [ "$(id -u)" = 0 ]; then
		chmod a+x "$1" && chown mysql "$1/data" "$1/run" || return 1
		set -- "$1" --user=mysql
	fi
	if [ -n "${LOCUS_TEST_MYSQLD:-}" ]; then
		"$LOCUS_TEST_MYSQLD" --no-defaults --initialize-insecure ${2:+"$2"} --datadir="$1/data" \
			--tmpdir="$1/run" --secure-file-priv=NULL --innodb-redo-log-capacity=64M >"$1/install.log" 2>&1
	else
		mariadb-install-db --no-defaults --auth-root-authentication-method=normal --skip-test-db \
			--skip-name-resolve --force --innodb-log-file-size=8M --innodb-undo-tablespaces=0 \
			${2:+"$2"} --datadir="$1/data" --tmpdir="$1/run" >"$1/install.log" 2>&1
	fi || _mariadb_fail "cannot make a data directory in $1" "$1/install.log"
}

# Adds the program, the options that only one of the two servers knows, and the caller's options.
_mariadb_serve() { # DIR OPTION...
	_mdb_at=$1
	shift
	_mdb_n=$#
	for _mdb_option; do
		set -- "$@" "--loose-${_mdb_option#--}"
	done
	shift "$_mdb_n"
	if [ -n "${LOCUS_TEST_MYSQLD:-}" ]; then
		set -- "$LOCUS_TEST_MYSQLD" --mysqlx=OFF --skip-log-bin --secure-file-priv=NULL \
			--innodb-redo-log-capacity=64M --sql-mode=STRICT_TRANS_TABLES,NO_ENGINE_SUBSTITUTION "$@"
	else
		set -- mariadbd --innodb-log-file-size=8M --innodb-undo-tablespaces=0 "$@"
	fi
	_mdb_program=$1
	shift
	[ "$(id -u)" != 0 ] || set -- --user=mysql "$@"
	exec "$_mdb_program" --no-defaults --datadir="$_mdb_at/data" \
		--tmpdir="$_mdb_at/run" --skip-networking --skip-name-resolve --socket="$_mdb_at/run/mysql.sock" \
		--log-error="$_mdb_at/data/error.log" --pid-file="$_mdb_at/data/server.pid" --performance-schema=OFF \
		--innodb-buffer-pool-size=64M --max-connections=200 "$@" >/dev/null 2>&1 </dev/null
}

_mariadb_client() {
	"$(command -v mariadb || command -v mysql)" --no-defaults -u root -S "$_mdb_dir/mysql.sock" "$@"
}

mariadb_start() {
	_mdb_dir=$1
	shift
	if [ ! -d "$_mdb_dir/data/mysql" ]; then
		mkdir -p "$_mdb_dir/data" "$_mdb_dir/run" && _mariadb_init "$_mdb_dir" || return 1
	fi
	_mariadb_serve "$_mdb_dir" "$@" &
	_mdb_pid=$!
	echo "$_mdb_pid" >"$_mdb_dir/mariadb.pid"
	ln -sf run/mysql.sock "$_mdb_dir/mysql.sock"
	_mdb_tries=0
	until _mariadb_client -e 'DO 0' >/dev/null 2>&1; do
		_mdb_tries=$((_mdb_tries + 1))
		if [ $_mdb_tries -gt 6000 ] || ! kill -0 "$_mdb_pid" 2>/dev/null; then
			_mariadb_fail "no server in $_mdb_dir" "$_mdb_dir/data/error.log"
			return 1
		fi
		sleep 0.05
	done
	# Since 9.6, MySQL has MD5() in a component only.
	[ -z "${LOCUS_TEST_MYSQLD:-}" ] || _mariadb_client \
		-e "INSTALL COMPONENT 'file://component_classic_hashing'" >/dev/null 2>&1 || :
}

mariadb_stop() {
	[ -s "$1/mariadb.pid" ] || return 0
	_mdb_pid=$(cat "$1/mariadb.pid")
	kill "$_mdb_pid" 2>/dev/null
	_mdb_tries=0
	while kill -0 "$_mdb_pid" 2>/dev/null; do
		_mdb_tries=$((_mdb_tries + 1))
		[ $_mdb_tries -lt 1200 ] || kill -9 "$_mdb_pid" 2>/dev/null
		sleep 0.05
	done
	rm -f "$1/mariadb.pid" "$1/mysql.sock"
}

# The tables of a BOINC project, as SQL.
boinc_schema() {
	_boinc=$source/test/sql/boinc
	awk -f "$source/test/sql/boinc-schema.awk" "$_boinc/tables.tsv" "$_boinc/indexes.tsv" "$_boinc/columns.tsv"
}

mariadb_session() {
	_mdb_dir=$1
	shift
	_mariadb_client "$@"
}

mariadb_sql() {
	_mdb_dir=$1
	shift
	if [ -n "${LOCUS_TEST_MYSQLD:-}" ]; then
		_mysql_sql "$@"
	else
		_mariadb_client "$@"
	fi
}

# --- MySQL has no number tables such as seq_1_to_8: these make them in the database seqs

_mysql_sequences() { # TEXT: SQL that makes the tables named in it
	for _mdb_seq in $(printf '%s\n' "$1" | grep -oE '\bseq_[0-9]+_to_[0-9]+\b' | sort -u); do
		_mdb_from=${_mdb_seq#seq_} _mdb_to=${_mdb_seq##*_}
		_mdb_from=${_mdb_from%%_*}
		cat <<-SQL
			CREATE DATABASE IF NOT EXISTS seqs;
			SET SESSION cte_max_recursion_depth = 100000000;
			CREATE TABLE IF NOT EXISTS seqs.$_mdb_seq (seq BIGINT PRIMARY KEY)
				WITH RECURSIVE n (seq) AS (SELECT $_mdb_from UNION ALL SELECT seq + 1 FROM n WHERE seq < $_mdb_to)
				SELECT seq FROM n;
		SQL
	done
}

_mysql_words() { # TEXT: with the tables' names in MySQL
	printf '%s\n' "$1" | sed -E 's/\bseq_[0-9]+_to_[0-9]+\b/seqs.&/g'
}

# SQL from an argument after -e, or from standard input.
_mysql_sql() { # ARGUMENT...
	_mdb_text='' _mdb_n=$#
	for _mdb_arg; do
		case $_mdb_arg in
		*seq_[0-9]*) _mdb_text=$_mdb_text$_mdb_arg && set -- "$@" "$(_mysql_words "$_mdb_arg")" ;;
		*) set -- "$@" "$_mdb_arg" ;;
		esac
	done
	shift "$_mdb_n"
	case " $* " in
	*" -e "*) [ -z "$_mdb_text" ] || _mysql_sequences "$_mdb_text" | _mariadb_client && _mariadb_client "$@" ;;
	*)
		_mdb_text=$(cat)
		case $_mdb_text in
		*seq_[0-9]*) _mysql_sequences "$_mdb_text" | _mariadb_client && _mysql_words "$_mdb_text" | _mariadb_client "$@" ;;
		*) printf '%s\n' "$_mdb_text" | _mariadb_client "$@" ;;
		esac
		;;
	esac
}
