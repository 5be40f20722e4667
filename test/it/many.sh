# shellcheck shell=sh
# SPDX-License-Identifier: Apache-2.0
# What the hosts of many.c have logged, for the scenarios that draw conclusions from it; sourced.
#
#   many_totals DIR   one line of sums: rpcs=, lost=, hung_up=, copied=, failed=
#   many_table DIR    SQL: the table t_log of all events, in their order
#   $twice, $lost     SQL that finds results sent to two hosts, and acked reports that are not in the database

many_totals() { # DIR
	cat "$1"/*.log | grep '^#' | tr ' ' '\n' | awk -F= 'NF == 2 { n[$1] += $2 }
		END { for (k in n) printf "%s=%d ", k, n[k]; print "" }'
}

many_table() { # DIR
	echo "CREATE TABLE t_log (id INT AUTO_INCREMENT PRIMARY KEY, t0 DOUBLE, t1 DOUBLE, host INT, account INT,
		event VARCHAR(20), name VARCHAR(190), more VARCHAR(190), KEY (event, name));"
	cat "$1"/*.log | grep -v '^#' | sort -s -n -k 2,2 |
		awk -v q="'" '{ printf "%s(%.6f,%.6f,%d,%d,%s%s%s,%s%s%s,%s%s%s)", NR % 500 == 1 ? "INSERT INTO t_log (t0, t1, host, account, event, name, more) VALUES " : ",",
			$1 / 1e6, $2 / 1e6, $3, $4, q, $5, q, q, $6, q, q, $7, q }
			NR % 500 == 0 { print ";" } END { print ";" }'
}

# shellcheck disable=SC2034 # for those that source it
twice="SELECT name, GROUP_CONCAT(DISTINCT host) FROM t_log WHERE event = 'received' GROUP BY name HAVING COUNT(DISTINCT host) > 1"
lost="SELECT l.name FROM t_log l LEFT JOIN result r ON r.name = l.name
	WHERE l.event = 'acked' AND (r.id IS NULL OR r.server_state <> 5 OR r.received_time = 0 OR r.outcome NOT IN (1, 3, 6))"
