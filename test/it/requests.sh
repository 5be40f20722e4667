# SPDX-License-Identifier: Apache-2.0
# Requests made by hand, served by scheduler -1, and what is seen of their replies.  Sourced after sched.sh, and after
# make_project_with_db.
serve() { # FILE [ARGUMENTS]: reply in $T/o, log in $T/log
	f=$1
	shift
	"$build/scheduler" -1 -p "$P" "$@" < "$f" > "$T/o" 2> "$T/log"
	rc=$?
	cat "$T/log" >> "$T/all.log"
	grep -q '<scheduler_reply>' "$T/o" && grep -q '</scheduler_reply>' "$T/o" || not_ok "no reply to $f (exit $rc)"
}
count() { expect_n "$1" "$2" "$(sql "$3")"; }
expect_n() { if [ "$2" = "$3" ]; then ok "$1: $2"; else not_ok "$1: $3, not $2"; fi; }
# request HOST SEQNO REPORTS OTHERS FILES [SECONDS]: like a 7.20.5 client
request() {
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
report() { # NAME [STATE [EXIT]]
	printf '<result>\n<name>%s</name>\n<final_cpu_time>10</final_cpu_time>\n<final_elapsed_time>11</final_elapsed_time>\n' "$1"
	printf '<exit_status>%s</exit_status>\n<state>%s</state>\n<stderr_out>\n<core_client_version>7.20.5</core_client_version>\n</stderr_out>\n</result>\n' "${3:-0}" "${2:-5}"
}
other() { for n in "$@"; do printf '<other_result><name>%s</name></other_result>\n' "$n"; done; }
held() { for n in "$@"; do printf '<file_info><name>%s</name><nbytes>1000000</nbytes><status>1</status></file_info>\n' "$n"; done; }
sent() { sed -n '/^<result>/,/^<\/result>/s/.*<name>\(.*\)<\/name>.*/\1/p' "$T/o" | sort; }
# meanwhile SQL: a transaction that holds what it changed until the scheduler waits for it, then commits; $other is the
# process to wait for.
transactions() { sql "select count(*) from information_schema.innodb_trx where $1"; }
meanwhile() {
	rm -f "$T/other"
	mkfifo "$T/other"
	mariadb_session "$DB" stars < "$T/other" &
	other=$!
	exec 7> "$T/other"
	echo "begin; $1;" >&7
	wait_for '[ "$(transactions "trx_rows_modified > 0")" = 1 ]'
	(wait_for '[ "$(transactions "trx_state = '\''LOCK WAIT'\''")" != 0 ]'; echo 'commit;' >&7) &
	exec 7>&-
}
