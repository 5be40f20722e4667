#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The scheduler by hand (scheduler -1) on a private MariaDB, with requests of real clients: first contact, work on a
# new and on a held file, reports, what is lost, what is refused, two at once, waiting for a generator.
set -u
top_srcdir=${top_srcdir:-$(cd "$(dirname "$0")/../.." && pwd)}
top_builddir=${top_builddir:-$PWD}
top_srcdir=$(cd "$top_srcdir" && pwd)
top_builddir=$(cd "$top_builddir" && pwd)
. "$top_srcdir/test/it/mariadb.sh"
. "$top_srcdir/test/it/sched-lib.sh"
command -v mariadbd >/dev/null || skip "mariadb-server is not installed"

G=$top_srcdir/test/golden/captures
DB=$T/db
mkdir "$DB" && chmod 755 "$T"
mariadb_start "$DB" || exit 1
trap 'mariadb_stop "$DB"; cleanup' EXIT
sql() { mariadb_sql "$DB" stars -N -e "$1"; }

make_project "<db_name>stars</db_name><db_user>root</db_user><db_socket>$DB/mysql.sock</db_socket>
<locality_scheduling>1</locality_scheduling><one_result_per_user_per_wu>1</one_result_per_user_per_wu>
<max_wus_to_send>2</max_wus_to_send>"
mkdir -p "$P"/locality_scheduling/{need_work,no_work_available,file_working_set,files_no_work}
public_key > "$P/keys/code_sign_public"
echo 'create database stars' | mariadb_sql "$DB"
mariadb_sql "$DB" stars < "$top_srcdir/db/schema.sql"
mariadb_sql "$DB" stars < "$top_srcdir/test/it/sched-project.sql"

serve() { # FILE [ARGUMENTS]: reply in $T/o, log in $T/log
	f=$1
	shift
	"$top_builddir/scheduler" -1 -p "$P" "$@" < "$f" > "$T/o" 2> "$T/log"
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

# --- every recorded request gets a reply, and the process never dies ---
for f in "$G"/*.request.xml; do serve "$f"; done
n=$(ls "$G"/*.request.xml | wc -l)
[ "$n" -ge 15 ] && ok "$n recorded requests answered" || not_ok "only $n recorded requests"
sql 'delete from host; delete from host_file; update result set server_state = 2, outcome = 0, hostid = 0, userid = 0, once = null, ready = fileset_id, received_time = 0'

# --- first contact: a host, a new file ---
touch "$P/locality_scheduling/file_working_set/F2"
request 0 0 '' '' '' 1 > "$T/r"; serve "$T/r"
expect "first contact is given a host id" '<hostid>[0-9]' "$T/o"
expect "and the code signing key" '<code_sign_key>' "$T/o"
H=$(sed -n 's/.*<hostid>\([0-9]*\)<.*/\1/p' "$T/o")
first=$(sent | head -1)
case $first in F2__*) ok "a job of the working set: $first" ;; *) not_ok "sent: $first" ;; esac
count "it is this host's" "$H" "select hostid from result where name = '$first'"
count "and no longer ready" NULL "select ready from result where name = '$first'"
count "the transitioner will look at its deadline" 1 "select transition_seq > 0 and transition_time < 2147483647 from workunit where name = substring_index('$first', '_', 3)"
expect "the log says so" "\[HOST#$H\] new .*sent=[1-9]\[$first:set" "$T/log"

# --- the reply was lost: the same job again ---
all=$(sent)
request "$H" 0 '' '' '' 1 > "$T/r"; serve "$T/r"
expect "what is not listed is sent again" "$first" "$T/o"
expect "and is told so" "Resent lost task $first" "$T/o"
grep -q '<hostid>' "$T/o" && not_ok "hostid was sent again" || ok "the host id is not sent again"

# --- report, and work on the held file ---
have=$(sql "select name from result where hostid = $H and server_state = 4" | grep -v "^$first$")
request "$H" 1 "$(report "$first")" "$(other $have)" "$(held F2)" > "$T/r"; serve "$T/r"
expect "the report is acked" "<name>$first</name>" "$T/o"
count "it is a success" "5 1 0" "select concat_ws(' ', server_state, outcome, validate_state) from result where name = '$first'"
sent | grep -qv '^F2__' && not_ok "sent something else: $(sent)" || ok "work on the held file: $(sent | tr '\n' ' ')"
expect "held, says the log" ':held' "$T/log"
count "the host holds F2" 1 "select count(*) from host_file where hostid = $H"
count "no workunit twice for the account" 0 "select count(*) from (select workunitid from result where userid = 1 group by workunitid having count(*) > 1) t"
serve "$T/r" # the very same request again
expect "a repeated report is acked again" "<name>$first</name>" "$T/o"
expect_n "an unknown report is acked" 1 "$(request "$H" 2 "$(report nonesuch_0)" '' '' 0 > "$T/r"; serve "$T/r"; grep -c '<name>nonesuch_0' "$T/o")"
next=$(sql "select name from result where hostid = $H and server_state = 4 limit 1")
request "$H" 3 "$(report "$next" 3 1)" '' '' 0 > "$T/r"; serve "$T/r"
count "a failure" "5 3 2 1" "select concat_ws(' ', server_state, outcome, validate_state, exit_status) from result where name = '$next'"
grep -q '<message' "$T/o" && not_ok "a message to a host that wants nothing" || ok "no message to a host that wants nothing"

# --- late, and someone else's ---
late=$(sql "select name from result where hostid = $H and server_state = 4 limit 1")
sql "update result set server_state = 5, outcome = 4 where name = '$late'"
request "$H" 4 "$(report "$late")" '' '' 0 > "$T/r"; serve "$T/r"
count "a late report is stored" "5 1" "select concat_ws(' ', server_state, outcome) from result where name = '$late'"
unsent=$(sql "select name from result where server_state = 2 limit 1")
request "$H" 5 "$(report "$unsent")" '' '' 0 > "$T/r"; serve "$T/r"
expect "the report of an unsent result is acked" "<name>$unsent</name>" "$T/o"
count "and ignored" 2 "select server_state from result where name = '$unsent'"

# --- refusals come after the reports ---
request "$H" 6 '' '' '' > "$T/r"; serve "$T/r"
mine=$(sent | head -1)
sql "update host set max_results_day = -1 where id = $H"
request "$H" 7 "$(report "$mine")" '' '' > "$T/r"; serve "$T/r"
expect "a banned host is refused" 'Not accepting requests from this host' "$T/o"
expect "but its report is acked" "<name>$mine</name>" "$T/o"
expect "and it stays away" '<request_delay>86400' "$T/o"
expect_n "and gets no work" '' "$(sent)"
count "its report is stored" 5 "select server_state from result where name = '$mine'"
sql "update host set max_results_day = 0 where id = $H"
PLATFORM=commodore64 request "$H" 8 "$(report nonesuch_1)" '' '' > "$T/r"; serve "$T/r"
expect "an unknown platform" "doesn't support computers of type commodore64" "$T/o"
expect "its report is acked" '<name>nonesuch_1' "$T/o"

# --- who is it ---
KEY=ffff request "$H" 9 '' '' '' > "$T/r"; serve "$T/r"
expect "a wrong key" 'Invalid or missing account key' "$T/o"
expect "an hour's delay" '<request_delay>3600' "$T/o"
weak=1_$(printf '%s' "4e6a693a6cc6322e6b1fccefd7dee8f3$(sql 'select passwd_hash from user where id = 1')" | md5sum | cut -c1-32)
KEY=$weak request "$H" 9 '' '' '' 0 > "$T/r"; serve "$T/r"
expect "a weak key" '<userid>1<' "$T/o"
request 0 0 '' '' '' 0 > "$T/r"; serve "$T/r"
expect "the same computer again" "<hostid>$H<" "$T/o"
count "its jobs count as detached" 0 "select count(*) from result where hostid = $H and server_state = 4"
request "$H" 5 '' '' '' 0 > "$T/r"; serve "$T/r"
request "$H" 3 '' '' '' 0 > "$T/r"; NAME=b request "$H" 3 '' '' '' 0 > "$T/r"; serve "$T/r"
expect "a copied client gets an id of its own" '<hostid>' "$T/o"
H2=$(sed -n 's/.*<hostid>\([0-9]*\)<.*/\1/p' "$T/o")
[ "$H2" != "$H" ] && ok "another one: $H2" || not_ok "the same host id"
sql "update host set userid = 0, rpc_seqno = $H where id = $H2"
request "$H2" 3 '' '' '' 0 > "$T/r"; serve "$T/r"
expect "a merged host is forwarded" "<hostid>$H<" "$T/o"
sql "update host set userid = 0, rpc_seqno = $H2 where id = $H"
NAME=c request "$H2" 3 '' '' '' 0 > "$T/r"; serve "$T/r"
expect "a cycle of merges ends" '<hostid>' "$T/o"
request 999999 3 '' '' '' 0 > "$T/r"; serve "$T/r"
expect "an unknown host id" "Can't find host record" "$T/o"

# --- what is not a request ---
: > "$T/r"; serve "$T/r"; expect "an empty request" 'Error in request' "$T/o"
head -c 5000000 /dev/urandom > "$T/r"; serve "$T/r"; expect "5 MB of garbage" 'Error in request' "$T/o"
request 0 0 '' '' '' | head -c 900 > "$T/r"; serve "$T/r"; expect "a truncated one" '<message' "$T/o"
touch "$P/stop_sched"
request 0 0 '' '' '' > "$T/r"; serve "$T/r"
expect "stop_sched" '<project_is_down/>' "$T/o"
expect "for an hour" '<request_delay>3600' "$T/o"
rm "$P/stop_sched"

# --- trickles ---
before=$(sql 'select count(*) from msg_from_host')
request 0 0 '<msg_from_host>
<result_name>x</result_name>
<time>1</time>
<variety>v</variety>
<a>1</a>
</msg_from_host>' '' '' 0 > "$T/r"; serve "$T/r"
expect "a trickle is acked" '<message_ack/>' "$T/o"
count "and stored" "$((before + 1)) v" "select concat(count(*), ' ', max(variety)) from msg_from_host"

# --- two processes, ten accounts, one file: every result goes once ---
sql "insert into user (id, create_time, email_addr, name, authenticator) select 100 + seq, 1, concat('u', seq, '@x.org'), 'u', concat('key', seq) from seq_1_to_10"
sql "update result set server_state = 2, outcome = 0, hostid = 0, userid = 0, once = null, ready = fileset_id, received_time = 0"
rm -f "$P"/locality_scheduling/file_working_set/*; touch "$P/locality_scheduling/file_working_set/F1"
for i in $(seq 10); do
	(KEY=key$i CPID=c$i NAME=n$i request 0 0 '' '' '' > "$T/r$i"
	"$top_builddir/scheduler" -1 -p "$P" < "$T/r$i" > "$T/o$i" 2>> "$T/all.log") &
	[ $((i % 5)) = 0 ] && wait %2 %3 %4 %5 %6 2>/dev/null
done
for j in $(jobs -p); do [ "$j" = "$(cat "$DB/mariadb.pid")" ] || wait "$j"; done
for i in $(seq 10); do sed -n '/^<result>/,/^<\/result>/s/.*<name>\(.*\)<\/name>.*/\1/p' "$T/o$i"; done | sort > "$T/names"
expect_n "no result twice among $(wc -l < "$T/names")" '' "$(uniq -d "$T/names")"
[ -s "$T/names" ] && ok "some were sent" || not_ok "nothing was sent"
count "and the database agrees" "$(wc -l < "$T/names")" "select count(*) from result where server_state = 4"

# --- on demand: an empty result table, a working set file, a generator that answers in a second ---
sed -i 's|<max_wus_to_send>|<locality_scheduling_wait_period>5</locality_scheduling_wait_period>&|' "$P/config.xml"
sql 'update result set server_state = 5, ready = null'
rm -f "$P"/locality_scheduling/*/*; touch "$P/locality_scheduling/file_working_set/F3"
(wait_for '[ -e "$P/locality_scheduling/need_work/F3" ]'
sleep 0.5
sql "insert into workunit (id, appid, name, xml_doc, rsc_fpops_est, rsc_fpops_bound, rsc_memory_bound, rsc_disk_bound, delay_bound, fileset_id, transition_time) select 900, appid, 'F3__900', replace(xml_doc, 'F1', 'F3'), rsc_fpops_est, rsc_fpops_bound, rsc_memory_bound, rsc_disk_bound, delay_bound, 3, 1 from workunit where id = 11;
insert into result (id, workunitid, appid, name, server_state, xml_doc_in, fileset_id, ready) select 9000, 900, appid, 'F3__900_0', 2, xml_doc_in, 3, 3 from result where workunitid = 11 limit 1") &
gen=$!
request 0 0 '' '' '' 1 > "$T/r"; serve "$T/r"; wait $gen
expect_n "a job made on demand" F3__900_0 "$(sent)"
expect "after a wait" 'waited_ms=[1-9]' "$T/log"
# nobody answers: the wait ends
rm -f "$P"/locality_scheduling/need_work/*
start=$(date +%s)
KEY=key3 NAME=z request 0 0 '' '' '' 1 > "$T/r"; serve "$T/r"
expect_n "no generator: nothing" '' "$(sent)"
expect "WAITING, says the log" 'why=WAITING' "$T/log"
s=$(($(date +%s) - start)); [ $s -ge 4 ] && [ $s -le 8 ] && ok "the wait has an end ($s s)" || not_ok "waited $s s"
# no place to wait in
sed -i 's|<max_wus_to_send>|<locality_max_waiters>0</locality_max_waiters>&|' "$P/config.xml"
KEY=key4 NAME=y request 0 0 '' '' '' 1 > "$T/r"; serve "$T/r"
expect "no place to wait: a short delay" '<request_delay>[1-9]' "$T/o"
grep -q waited_ms "$T/log" && not_ok "it waited" || ok "and no wait"

# --- the database goes ---
mariadb_stop "$DB"
request 0 0 '' '' '' 1 > "$T/r"; serve "$T/r"
expect "no database" '<project_is_down/>' "$T/o"
expect "says so" 'Project is temporarily down' "$T/o"
echo nonsense > "$P/config.xml"
"$top_builddir/scheduler" -1 -p "$P" < "$T/r" > "$T/o" 2> "$T/log"
expect_n "a bad configuration is told the admin" 78 $?
grep -qE 'AddressSanitizer|runtime error' "$T/all.log" && not_ok "the sanitizers complain" || ok "no sanitizer complains"
exit $FAILED
