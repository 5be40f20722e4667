# shellcheck shell=sh
# SPDX-License-Identifier: Apache-2.0
# A private MariaDB for tests, to be sourced: unix socket only, all of it in one directory.
#
#   mariadb_start DIR [SERVER-OPTION...]  makes DIR/data if it is not there and starts a server on
#                                         DIR/mysql.sock; its pid stands in DIR/mariadb.pid
#   mariadb_stop DIR                      ends it, with SIGKILL if it must; DIR stays
#   mariadb_sql DIR [DATABASE [OPTION...]]  the client, as root, SQL from standard input
#
# Its temporary tables are there too: a server that starts removes those that it finds in its
# tmpdir, so in /tmp one would take another's.
#
# root has no password on that socket.  The server never runs as root: if we are root, it runs
# as the account mysql.  A second start on the same DIR takes the data as they are.

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
	mariadb-install-db --no-defaults --auth-root-authentication-method=normal --skip-test-db \
		--skip-name-resolve --force --innodb-log-file-size=8M --innodb-undo-tablespaces=0 \
		${2:+"$2"} --datadir="$1/data" --tmpdir="$1/run" >"$1/install.log" 2>&1 ||
		_mariadb_fail "cannot make a data directory in $1" "$1/install.log"
}

mariadb_start() {
	_mdb_dir=$1
	shift
	_mdb_user=''
	[ "$(id -u)" != 0 ] || _mdb_user=--user=mysql
	if [ ! -d "$_mdb_dir/data/mysql" ]; then
		mkdir -p "$_mdb_dir/data" "$_mdb_dir/run" && _mariadb_init "$_mdb_dir" || return 1
	fi
	_mdb_log=$_mdb_dir/data/error.log
	mariadbd --no-defaults ${_mdb_user:+"$_mdb_user"} --datadir="$_mdb_dir/data" \
		--tmpdir="$_mdb_dir/run" --skip-networking --skip-name-resolve --socket="$_mdb_dir/run/mysql.sock" \
		--log-error="$_mdb_log" --pid-file="$_mdb_dir/data/server.pid" \
		--performance-schema=OFF --innodb-log-file-size=8M --innodb-undo-tablespaces=0 \
		--innodb-buffer-pool-size=64M --max-connections=200 "$@" \
		>/dev/null 2>&1 </dev/null &
	_mdb_pid=$!
	echo "$_mdb_pid" >"$_mdb_dir/mariadb.pid"
	ln -sf run/mysql.sock "$_mdb_dir/mysql.sock"
	_mdb_tries=0
	until mariadb-admin --no-defaults -u root -S "$_mdb_dir/mysql.sock" ping >/dev/null 2>&1; do
		_mdb_tries=$((_mdb_tries + 1))
		if [ $_mdb_tries -gt 6000 ] || ! kill -0 "$_mdb_pid" 2>/dev/null; then
			_mariadb_fail "no server in $_mdb_dir" "$_mdb_log"
			return 1
		fi
		sleep 0.05
	done
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

mariadb_sql() {
	_mdb_dir=$1
	shift
	mariadb --no-defaults -u root -S "$_mdb_dir/mysql.sock" "$@"
}
