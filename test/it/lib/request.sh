# SPDX-License-Identifier: Apache-2.0
# Scheduler requests made by hand, and what their replies say. The reply is $work/o, what the scheduler logged $work/log.

# --- requests

# Prints a request like that of a 7.20.5 client. KEY, NAME, CPID and PLATFORM in the environment change the account and
# the host.
request() { # HOST SEQNO REPORTS OTHERS FILES [SECONDS]
	cat <<XML
<scheduler_request>
    <authenticator>${KEY:-4e6a693a6cc6322e6b1fccefd7dee8f3}</authenticator>
    <hostid>$1</hostid>
    <rpc_seqno>$2</rpc_seqno>
    <core_client_major_version>7</core_client_major_version>
    <core_client_minor_version>20</core_client_minor_version>
    <core_client_release>5</core_client_release>
    <resource_share_fraction>1.000000</resource_share_fraction>
    <duration_correction_factor>1.000000</duration_correction_factor>
    <work_req_seconds>${6:-1000}</work_req_seconds>
    <cpu_req_secs>${6:-1000}</cpu_req_secs>
    <cpu_req_instances>$([ "${6:-1000}" = 0 ] && echo 0 || echo 1)</cpu_req_instances>
    <estimated_delay>0.000000</estimated_delay>
    <client_cap_plan_class>1</client_cap_plan_class>
    <platform_name>${PLATFORM:-x86_64-pc-linux-gnu}</platform_name>
    <host_info>
        <domain_name>${NAME:-a}</domain_name>
        <ip_addr>127.0.0.1</ip_addr>
        <host_cpid>${CPID:-0b54a6fd5c5d4df2a0c2b1d1f7a9e311}</host_cpid>
        <p_ncpus>2</p_ncpus>
        <p_vendor>GenuineIntel</p_vendor>
        <p_model>x</p_model>
        <p_fpops>5000000000.000000</p_fpops>
        <m_nbytes>8000000000.000000</m_nbytes>
        <d_total>100000000000.000000</d_total>
        <d_free>90000000000.000000</d_free>
        <os_name>Linux</os_name>
        <os_version>6</os_version>
    </host_info>
    <time_stats><on_frac>1</on_frac><connected_frac>1</connected_frac><active_frac>1</active_frac></time_stats>
$3
<other_results>
$4
</other_results>
$5
</scheduler_request>
XML
}

report() { # NAME [STATE [EXIT-STATUS]]: of a result, for REPORTS; by default a success
	printf '<result>\n<name>%s</name>\n<final_cpu_time>10</final_cpu_time>\n<final_elapsed_time>11</final_elapsed_time>\n' "$1"
	printf '<exit_status>%s</exit_status>\n<state>%s</state>\n<stderr_out>\n<core_client_version>7.20.5</core_client_version>\n</stderr_out>\n</result>\n' "${3:-0}" "${2:-5}"
}

other() { # NAME...: results that the host has, for OTHERS
	local n
	for n; do printf '<other_result><name>%s</name></other_result>\n' "$n"; done
}

held() { # NAME...: large files that the host has, for FILES
	local n
	for n; do printf '<file_info><name>%s</name><nbytes>1000000</nbytes><status>1</status></file_info>\n' "$n"; done
}

# Prints the request of request.xml, of an 8.0.0 client that wants an hour of work.
sample_request() { # KEY [SEQNO [HOST]]
	sed "s/@KEY@/$1/; s/@SEQNO@/${2:-0}/; s/@PLATFORM@/$(platform)/
		${3:+s:</rpc_seqno>:</rpc_seqno><hostid>$3</hostid>:}" "$here/request.xml"
}

# --- serving

serve() { # FILE [OPTION...]: by scheduler -1
	local file=$1 status
	shift
	"$build/scheduler" -1 -p "$project" "$@" <"$file" >"$work/o" 2>"$work/log"
	status=$?
	cat "$work/log" >>"$work/all.log"
	grep -q '<scheduler_reply>' "$work/o" && grep -q '</scheduler_reply>' "$work/o" || not_ok "no reply to $file (exit $status)"
}

serve_http() { # FILE [CURL-OPTION...]: by the bare project's Apache; the head of the reply is $work/h
	local file=$1
	shift
	curl -s -D "$work/h" -o "$work/o" -H 'Content-Type: application/x-www-form-urlencoded' --data-binary "@$file" "$@" \
		"$server_url/stars_cgi/cgi"
}

# --- replies

element() { # NAME [FILE]: the text of the first element of this name
	sed -n "s:.*<$1>\([^<]*\)<.*:\1:p" "${2:-$work/o}" | head -n 1
}

names_within() { # ELEMENT [FILE]: the names in elements that begin a line, sorted
	sed -n "/^<$1>/,/^<\/$1>/s/.*<name>\(.*\)<\/name>.*/\1/p" "${2:-$work/o}" | sort
}

sent() { # [FILE]: results that are sent
	names_within result "$@"
}

acked() { # [FILE]: results whose reports are acknowledged
	names_within result_ack "$@"
}

aborted() { # [FILE]: results that are aborted
	names_within result_abort "$@"
}

aborted_unless_started() { # [FILE]
	names_within result_abort_if_not_started "$@"
}

delete_orders() { # [FILE]: large files that the host is to delete
	sed -n 's:.*<delete_file_info>\(.*\)</delete_file_info>.*:\1:p' "${1:-$work/o}" | sort
}

log_value() { # NAME [FILE]: the last value of NAME= in a log
	sed -n "s/.* $1=\([^ ]*\).*/\1/p" "${2:-$work/log}" | tail -n 1
}

# --- rows of the bare project

# Results are as the transitioner makes them.
unsend_results() { # [SQL-CONDITION]
	sql "UPDATE result SET server_state = 2, outcome = 0, hostid = 0, userid = 0, once = NULL, ready = fileset_id,
		received_time = 0, sent_time = 0 ${1:+WHERE $1}"
}

no_results() { # [SQL-CONDITION]: to send; by default of all
	sql "UPDATE result SET server_state = 5, outcome = 5, ready = NULL ${1:+WHERE $1}"
}

accounts() { # FIRST-ID NUMBER [TEAM]: with the keys key1, key2, ...
	sql "INSERT INTO user (id, create_time, email_addr, name, authenticator, teamid)
		SELECT $1 + seq, 1, CONCAT('u', seq, '@x.org'), CONCAT('u', seq), CONCAT('key', seq), ${3:-0} FROM seq_1_to_$2"
}

# SQL that a generator would run for file F3, of which sched-project.sql has no work.
f3_workunit() { # ID
	echo "INSERT INTO workunit (id, appid, name, xml_doc, rsc_fpops_est, rsc_fpops_bound, rsc_memory_bound, rsc_disk_bound,
		delay_bound, fileset_id, transition_time)
		SELECT $1, appid, 'F3__$1', REPLACE(xml_doc, 'F1', 'F3'), rsc_fpops_est, rsc_fpops_bound, rsc_memory_bound,
		rsc_disk_bound, delay_bound, 3, 1 FROM workunit WHERE id = 11;"
}

f3_result() { # WORKUNIT-ID [CREATE-TIME]
	echo "INSERT INTO result (id, create_time, workunitid, appid, name, server_state, xml_doc_in, fileset_id, ready)
		SELECT ${1}0, ${2:-0}, $1, appid, 'F3__$1_0', 2, REPLACE(xml_doc_in, 'F1__11', 'F3__$1'), 3, 3
		FROM result WHERE workunitid = 11 LIMIT 1;"
}

# The account key of account 1 that only its owner's clients may use for work.
weak_key() {
	echo "1_$(printf '%s' "4e6a693a6cc6322e6b1fccefd7dee8f3$(sql 'SELECT passwd_hash FROM user WHERE id = 1')" |
		md5sum | cut -c1-32)"
}
