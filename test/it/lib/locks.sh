# SPDX-License-Identifier: Apache-2.0
# Transactions beside the program under test: who waits for a lock, and sessions that hold one.

transactions() { # SQL-CONDITION: the number of open ones, by innodb_trx
	sql "SELECT COUNT(*) FROM information_schema.innodb_trx WHERE $1"
}

lock_waited() { # somebody waits for a lock
	[[ $(transactions "trx_state = 'LOCK WAIT'") != 0 ]]
}

# Starts a session that runs this SQL and keeps its locks until lock_release; its output is $work/lock.out.
lock_hold() { # SQL
	rm -f "$work/lock"
	mkfifo "$work/lock"
	mariadb_session "$db_dir" "$db_name" <"$work/lock" >"$work/lock.out" &
	lock_holder=$!
	exec 7>"$work/lock"
	echo "$1" >&7
}

lock_release() {
	exec 7>&-
	wait $lock_holder
}

# Starts a transaction that keeps its changes locked until the scheduler waits for it, and then commits. Wait for its
# process, $other, after the request.
meanwhile() { # SQL
	rm -f "$work/other"
	mkfifo "$work/other"
	mariadb_session "$db_dir" "$db_name" <"$work/other" &
	other=$!
	exec 7>"$work/other"
	echo "begin; $(sql_by_our_clock "$1");" >&7
	wait_for '[[ $(transactions "trx_rows_modified > 0") == 1 ]]'
	(wait_for lock_waited; echo 'commit;' >&7) &
	exec 7>&-
}
