# SPDX-License-Identifier: Apache-2.0
# The logs of the hosts of many.c, and checks of them against the database.

many_totals() { # DIR: one line of sums: rpcs= lost= hung_up= copied= failed=
	cat "$1"/*.log | grep '^#' | tr ' ' '\n' | awk -F= 'NF == 2 { n[$1] += $2 }
		END { for (k in n) printf "%s=%d ", k, n[k]; print "" }'
}

# SQL that makes the table t_log of all events, in their order.
many_table() { # DIR
	echo "CREATE TABLE t_log (id INT AUTO_INCREMENT PRIMARY KEY, t0 DOUBLE, t1 DOUBLE, host INT, account INT,
		event VARCHAR(20), name VARCHAR(190), more VARCHAR(190), KEY (event, name));"
	cat "$1"/*.log | grep -v '^#' | sort -s -n -k 2,2 |
		awk -v q="'" '{ printf "%s(%.6f,%.6f,%d,%d,%s%s%s,%s%s%s,%s%s%s)", NR % 500 == 1 ? "INSERT INTO t_log (t0, t1, host, account, event, name, more) VALUES " : ",",
			$1 / 1e6, $2 / 1e6, $3, $4, q, $5, q, q, $6, q, q, $7, q }
			NR % 500 == 0 { print ";" } END { print ";" }'
}

# shellcheck disable=SC2034 # for the scenarios
# SQL that finds results which two hosts received.
sent_twice="SELECT name, GROUP_CONCAT(DISTINCT host) FROM t_log WHERE event = 'received' GROUP BY name HAVING COUNT(DISTINCT host) > 1"
# SQL that finds reports which were acknowledged and are not in the database.
reports_lost="SELECT l.name FROM t_log l LEFT JOIN result r ON r.name = l.name
	WHERE l.event = 'acked' AND (r.id IS NULL OR r.server_state <> 5 OR r.received_time = 0 OR r.outcome NOT IN (1, 3, 6))"

# What the hosts and the database agree on after any load.
check_host_logs() {
	sql_none "no result was sent to two hosts" "$sent_twice"
	check_claimed_once
	sql_none "what was received is the host's in the database" "SELECT l.name FROM t_log l LEFT JOIN result r ON r.name = l.name
		LEFT JOIN host h ON h.id = r.hostid
		WHERE l.event = 'received' AND (h.id IS NULL OR h.domain_name <> CONCAT('host', l.host))"
	sql_none "no report was lost" "$reports_lost"
	sql_none "every job was acked" "SELECT name FROM t_log l WHERE event = 'received'
		AND NOT EXISTS (SELECT 1 FROM t_log a WHERE a.event = 'acked' AND a.name = l.name)"
	sql_none "no job is anywhere else" "SELECT name FROM t_log WHERE event = 'left'
		UNION ALL SELECT name FROM result WHERE server_state = 4"
}

# A double send and a lost report, for checks that must find them.
plant_double_send() {
	sql "INSERT INTO t_log (t0, t1, host, account, event, name, more)
		SELECT t0, t1, host + 2, account + 1, event, name, more FROM t_log WHERE event = 'received' LIMIT 1"
}

plant_lost_report() { # there must be an unsent result
	sql "INSERT INTO t_log (t0, t1, host, account, event, name, more)
		SELECT 0, 1, 0, 0, 'acked', name, '' FROM result WHERE server_state = 2 LIMIT 1"
}
