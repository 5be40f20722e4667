# SPDX-License-Identifier: Apache-2.0
# Plays a day of a project from a table; day.table says how it is read. For the scenario 25-project-day, which sources
# it after lib.sh.
#
# The scheduler is the project's own, behind Apache, but as a program that serves one request, so that each request can
# set the time of the day (-t) and the seed (-s).
MIDNIGHT=1793577600 # 2026-11-02, of the day that is played
declare -A class=() reply=() host=() account_id=() host_id=() tasks=() said=()
row=0 now=0

clock() { # HH:MM[:SS], the hour may be past 23: seconds of the day
	local h m s
	IFS=: read -r h m s <<< "$1"
	echo $((10#$h * 3600 + 10#$m * 60 + 10#${s:-0}))
}

# One pair per word, KEY=VALUE: into $value, "" if it is not there.
word() { # KEY WORDS...
	local key=$1 w
	value=
	shift
	for w in "$@"; do [[ $w != "$key="* ]] || value=${w#*=}; done
}

platform_name() {
	case $1 in
	linux) echo x86_64-pc-linux-gnu ;;
	windows) echo windows_intelx86 ;;
	mac) echo arm64-apple-darwin ;;
	*) echo "$1" ;;
	esac
}

# --- the project

# Every limit is on.
day_project() {
	[ -e /usr/lib/apache2/modules/mod_cgid.so ] || skip "apache2 with mod_cgid is not installed"
	database_start
	bare_project "<db_name>stars</db_name><db_user>root</db_user><db_socket>$db_dir/mysql.sock</db_socket>
	<uldl_dir_fanout>0</uldl_dir_fanout>
	<dont_generate_upload_certificates/>
	<locality_scheduling_sorted_order/>
	<one_result_per_user_per_wu/>
	<max_wus_to_send>2</max_wus_to_send>
	<max_wus_in_progress>3</max_wus_in_progress>
	<max_wus_in_progress_gpu>2</max_wus_in_progress_gpu>
	<daily_result_quota>5</daily_result_quota>
	<gpu_multiplier>1</gpu_multiplier>
	<max_ncpus>4</max_ncpus>
	<min_sendwork_interval>60</min_sendwork_interval>
	<min_core_client_version>419</min_core_client_version>
	<ban_cpu>Transmeta</ban_cpu>
	<default_disk_min_free_gb>1</default_disk_min_free_gb>
	<report_grace_period>3600</report_grace_period>
	<reliable_on_priority>5</reliable_on_priority>
	<reliable_max_avg_turnaround>43200</reliable_max_avg_turnaround>
	<reliable_reduced_delay_bound>0.5</reliable_reduced_delay_bound>
	<enable_assignment/>
	<version_select_random_factor>0</version_select_random_factor>"
	trigger_dirs
	project_templates
	public_key > "$project/keys/code_sign_public"
	cat > "$project/config_aux.xml" <<-XML
	<config><max_jobs_in_progress>
	    <project><total_limit><jobs>10</jobs></total_limit></project>
	    <app><app_name>lens</app_name><cpu_limit><jobs>2</jobs></cpu_limit></app>
	</max_jobs_in_progress></config>
	XML
	cat > "$project/plan_class_spec.xml" <<-XML
	<plan_classes>
	<plan_class><name>cuda</name><gpu_type>nvidia</gpu_type><cuda/><min_driver_version>45000</min_driver_version>
	    <min_gpu_ram_mb>2048</min_gpu_ram_mb><gpu_ram_used_mb>1000</gpu_ram_used_mb><avg_ncpus>0.1</avg_ncpus></plan_class>
	<plan_class><name>opencl_ati</name><gpu_type>ati</gpu_type><opencl/><min_gpu_ram_mb>2048</min_gpu_ram_mb>
	    <gpu_ram_used_mb>1000</gpu_ram_used_mb><avg_ncpus>0.1</avg_ncpus></plan_class>
	</plan_classes>
	XML
	{
		echo 'create database stars; use stars;'
		cat "$source/db/schema.sql"
		schema_is_current
		echo "insert into platform (create_time, name) values (1, 'x86_64-pc-linux-gnu'), (1, 'windows_intelx86'), (1, 'arm64-apple-darwin'), (1, 'anonymous');"
	} | mariadb_sql "$db_dir" || exit 1
	db_name=stars
	day_apache
}

# Beside the scheduler that the template has, one for which it is the time of the day that is played.
day_apache() {
	mkdir -p "$project/cgi"
	cat > "$project/cgi/scheduler" <<-SH
	#!/bin/sh
	printf 'Content-Type: text/xml\r\n\r\n'
	exec "$build/scheduler" -1 -p "$project" -t "\$HTTP_X_DAY_NOW" -s "\$HTTP_X_DAY_SEED"
	SH
	chmod 755 "$project/cgi/scheduler"
	cat > "$work/cgi.conf" <<-CONF
	LoadModule cgid_module /usr/lib/apache2/modules/mod_cgid.so
	ScriptSock "$project/run/cgid.sock"
	ScriptAlias "/day_cgi/" "$project/cgi/"
	<Directory "$project/cgi">
	    Require all granted
	</Directory>
	CONF
	apache_lines=$work/cgi.conf
	apache_start
}

# --- what there is: SQL that is run at once, before the day

setup_app() { # NAME [hr] [locality] [test]
	local name=$1 w hr=0 locality=0 beta=0
	shift
	for w in "$@"; do
		case $w in hr) hr=2 ;; locality) locality=1 ;; test) beta=1 ;; esac
	done
	echo "insert into app (name, create_time, user_friendly_name, homogeneous_redundancy, locality_scheduling, beta) values ('$name', 1, '$name', $hr, $locality, $beta);"
}

setup_version() { # APP NUMBER PLATFORM [CLASS] [min=CLIENT] [max=CLIENT]
	local app=$1 number=$2 platform=$3 class='' min max
	shift 3
	[[ $# == 0 || $1 == *=* ]] || class=$1
	word min "$@"; min=$value
	word max "$@"; max=$value
	truncate -s 1000 "$project/download/${app}_$number"
	cat <<-SQL
	insert into app_version (create_time, appid, version_num, platformid, plan_class, min_core_version, max_core_version, xml_doc)
	select 1, a.id, $number, p.id, '$class', ${min:-0}, ${max:-0}, '<file_info>
	    <name>${app}_$number$platform$class</name>
	    <url>$server_url/stars/download/${app}_$number</url>
	    <executable/>
	    <file_signature>
	0
	.
	    </file_signature>
	    <nbytes>1000</nbytes>
	</file_info>
	<app_version>
	    <app_name>$app</app_name>
	    <version_num>$number</version_num>
	    <file_ref>
	        <file_name>${app}_$number$platform$class</file_name>
	        <main_program/>
	    </file_ref>
	</app_version>
	' from app a, platform p where a.name = '$app' and p.name = '$(platform_name "$platform")';
	SQL
}

setup_account() { # NAME [PREFERENCES]
	local name=$1
	shift
	account_id[$name]=$((${#account_id[@]} + 1))
	echo "insert into user (id, create_time, email_addr, name, authenticator, project_prefs) values
	(${account_id[$name]}, 1, '$name@example.org', '$name', 'key_$name', '${*:+<project_preferences>$*</project_preferences>}');"
}

setup_file() { # NAME MB APP
	truncate -s "${2}MB" "$project/download/$1"
	cat <<-SQL
	insert into file (name, md5sum, size, create_time) values ('$1', 'd41d8cd98f00b204e9800998ecf8427e', ${2}000000, 1);
	insert into fileset (name, appid, create_time) select '$1', id, 1 from app where name = '$3';
	insert into fileset_file (fileset_id, file_id) select s.id, f.id from fileset s join file f using (name) where name = '$1';
	SQL
}

# --- what happens

# The transitioner makes the results, as at all times.
play_work() { # GROUP WUSxRESULTS gflop= mem= disk= delay= [bw=] [priority=] [file=]
	local group=$1 n=${2%x*} target=${2#*x} w
	local -A of=()
	shift 2
	for w in "$@"; do of[${w%%=*}]=${w#*=}; done
	sql "insert into workunit (create_time, appid, name, xml_doc, rsc_fpops_est, rsc_fpops_bound, rsc_memory_bound, rsc_disk_bound,
	    rsc_bandwidth_bound, delay_bound, priority, min_quorum, target_nresults, max_error_results, max_total_results,
	    max_success_results, result_template_file, fileset_id, transition_time)
	  select $now, a.id, concat('$group', '_', n.seq), concat(if(f.id is null, '', concat('<file_info>\n    <name>', f.name,
	    '</name>\n    <url>$server_url/stars/download/', f.name, '</url>\n    <md5_cksum>', f.md5sum, '</md5_cksum>\n    <nbytes>', f.size,
	    '</nbytes>\n    <sticky/>\n</file_info>\n')), '<workunit>\n    <command_line>', n.seq, '</command_line>\n', if(f.id is null, '',
	    concat('    <file_ref>\n        <file_name>', f.name, '</file_name>\n        <open_name>in</open_name>\n    </file_ref>\n')),
	    '</workunit>\n'), ${of[gflop]} * 1e9, ${of[gflop]} * 1e12, ${of[mem]} * 1e6, ${of[disk]} * 1e6,
	    ${of[bw]:-0} * 1e3, ${of[delay]} * 3600, ${of[priority]:-0}, $target, $target, 3, 8, 4, 'templates/out.xml', coalesce(s.id, 0), $now
	  from seq_1_to_$n n join app a on a.name = '${group%%.*}' left join file f on f.name = '${of[file]:-}' left join fileset s on s.name = f.name
	  order by n.seq" || not_ok "work $group"
	play_transitioner
}

# Every time in the database goes so many seconds forward; 2147483647 is never.
shift_times() {
	local q
	q=$(sql "select concat('update ', table_name, ' set ', group_concat(concat(column_name, ' = ', column_name, ' + if(', column_name,
	    ' between 1e9 and 2147483646, $1, 0)')), ';') from information_schema.columns where table_schema = 'stars' and table_name in
	    ('workunit', 'result', 'host') and column_name in ('create_time', 'transition_time', 'sent_time', 'report_deadline',
	    'received_time', 'rpc_time') group by table_name")
	sql "$q"
}

# The daemons have no other clock than the machine's: for them the day is moved to now, and back.
at_this_time() { # COMMAND...
	local away=$(($(date +%s) - now)) rc
	shift_times $away
	"$@" > "$work/said" 2>&1
	rc=$?
	shift_times $((-away))
	[ $rc = 0 ] && ! grep -q ' error ' "$work/said" || not_ok "$*: exit $rc: $(tail -n 3 "$work/said")"
}
play_transitioner() { # run
	at_this_time "$build/transitioner" -1 --project "$project"; }

# A file that hosts without work on theirs are given.
play_publish() { trigger_raise file_working_set $1; }

# That many valid results in a row, which others confirmed.
play_history() { # HOST APP VERSION NUMBER
	sql "insert into host_app_version (host_id, app_version_id, max_jobs_per_day, turnaround_n, turnaround_avg, consecutive_valid)
	  select ${host_id[$1]}, v.id, 6, $4, 3600, $4 from app_version v join app a on a.id = v.appid join platform p on p.id = v.platformid
	  where a.name = '$2' and v.version_num = $3 and p.name = 'x86_64-pc-linux-gnu'
	  on duplicate key update max_jobs_per_day = 6, turnaround_n = $4, turnaround_avg = 3600, consecutive_valid = $4"
}

play_assign() { # WORKUNIT HOST
	"$build/tools/locus" -p "$project" work assign "$1" --host "${host_id[$2]}" > "$work/said" 2>&1 || not_ok "$at assign $1: $(cat "$work/said")"
}

play_cancel() { # WORKUNIT
	sql "update workunit set error_mask = error_mask | 16, transition_time = $now, transition_seq = transition_seq + 1 where name = '$1'"
	play_transitioner
}

play_ban() { # HOST
	"$build/tools/locus" -p "$project" host ban "${host_id[$1]}" > "$work/said" 2>&1 || not_ok "$at ban $1: $(cat "$work/said")"
}

# --- one request

coprocs() { # TYPE COUNT RAM_MB DRIVER SECONDS INSTANCES
	local element=coproc_cuda ram="<totalGlobalMem>$(($3 * 1048576))</totalGlobalMem><have_cuda>1</have_cuda><drvVersion>$4</drvVersion>"
	[ "$1" = NVIDIA ] || element=coproc_ati ram="<localRAM>$3</localRAM><have_opencl>1</have_opencl><coproc_opencl><global_mem_size>$(($3 * 1048576))</global_mem_size><opencl_device_version>OpenCL 2.0</opencl_device_version></coproc_opencl>"
	echo "<coprocs><$element><count>$2</count><name>$1</name><available_ram>$(($3 * 1048576))</available_ram><req_secs>$5</req_secs><req_instances>$6</req_instances><estimated_delay>0</estimated_delay><peak_flops>1e12</peak_flops>$ram</$element></coprocs>"
}

task_report() { # TASK STATE EXIT_STATUS
	printf '<result>\n<name>%s</name>\n<final_cpu_time>3600</final_cpu_time>\n<final_elapsed_time>3600</final_elapsed_time>\n' "$1"
	printf '<exit_status>%s</exit_status>\n<state>%s</state>\n</result>\n' "$3" "$2"
}

pair() { # SECONDS[/INSTANCES] into $secs and $instances
	secs=${1%/*} instances=0
	[[ $1 != */* ]] || instances=${1#*/}
	: "${secs:=0}"
}

request_of() { # HOST WORDS...
	local name=$1 value lost h major minor release os vendor w f secs instances cpu_secs cpu_instances platform left due
	shift
	read -r -a h <<< "${host[$name]}" # account platform client cpus x gflops memory disk, then pairs
	IFS=. read -r major minor release <<< "${h[2]}"
	platform=$(platform_name "${h[1]}")
	case ${h[1]} in windows) os='Microsoft Windows XP' ;; mac) os=Darwin ;; *) os=Linux ;; esac
	word vendor "${h[@]}"; vendor=$value
	word cpu "$@"; pair "$value"
	cpu_secs=$secs cpu_instances=$instances
	cat <<-XML
	<scheduler_request>
	<authenticator>key_${h[0]}</authenticator>
	<hostid>${host_id[$name]:-0}</hostid>
	<rpc_seqno>$row</rpc_seqno>
	<core_client_major_version>$major</core_client_major_version>
	<core_client_minor_version>$minor</core_client_minor_version>
	<core_client_release>$release</core_client_release>
	<resource_share_fraction>1</resource_share_fraction>
	<duration_correction_factor>1</duration_correction_factor>
	<platform_name>$platform</platform_name>
	<host_info>
	<domain_name>$name</domain_name><ip_addr>127.0.0.1</ip_addr><host_cpid>cpid_$name</host_cpid>
	<p_ncpus>${h[3]%x*}</p_ncpus><p_vendor>${vendor:-GenuineIntel}</p_vendor><p_model>x</p_model><p_fpops>${h[3]#*x}e9</p_fpops>
	<m_nbytes>${h[4]}e6</m_nbytes><d_total>${h[5]}e6</d_total><d_free>${h[5]}e6</d_free><os_name>$os</os_name><os_version>6</os_version>
	</host_info>
	XML
	word bw "${h[@]}"
	[ -z "$value" ] || echo "<net_stats><bwdown>${value}e3</bwdown></net_stats>"
	word on "${h[@]}"
	echo "<time_stats><on_frac>${value:-1}</on_frac><connected_frac>1</connected_frac><active_frac>1</active_frac><gpu_active_frac>1</gpu_active_frac></time_stats>"
	if ((major < 6)); then
		word old "$@"
		echo "<work_req_seconds>${value:-0}</work_req_seconds>"
	else
		word delay "$@"
		echo "<work_req_seconds>$cpu_secs</work_req_seconds><cpu_req_secs>$cpu_secs</cpu_req_secs><cpu_req_instances>$cpu_instances</cpu_req_instances>"
		echo "<estimated_delay>${value:-0}</estimated_delay><client_cap_plan_class>1</client_cap_plan_class>"
		echo "<other_results>"
		word loses "$@"; lost=$value
		for w in ${tasks[$name]:-}; do
			[[ -n $lost && $w == "$lost"_* ]] || echo "<other_result><name>$w</name>${class[$w]:-}</other_result>"
		done
		echo "</other_results>"
	fi
	word gpu "$@"; pair "$value"
	word gpu "${h[@]}"
	# shellcheck disable=SC2046,SC2086
	[ -z "$value" ] || coprocs ${value//:/ } $secs $instances
	word own "${h[@]}"
	for f in ${value//,/ }; do
		echo "<app_versions><app_version><app_name>$f</app_name><version_num>7</version_num><flops>5e9</flops></app_version></app_versions>"
	done
	word queue "$@" # SECONDS@HOURS: a task of another project
	if [ -n "$value" ]; then
		left=${value%@*} due=$((now + ${value#*@} * 3600))
		echo "<in_progress_results><ip_result><name>other</name><report_deadline>$due</report_deadline><time_remaining>$left</time_remaining></ip_result></in_progress_results>"
	fi
	for f in ${said[$name.files]:-}; do
		echo "<file_info><name>$f</name><nbytes>$(stat -c %s "$project/download/$f")</nbytes><status>1</status></file_info>"
	done
	for f in ${said[$name.reports]:-}; do
		case $f in *!) task_report "${f%!}" 3 1 ;; *-) task_report "${f%-}" 6 202 ;; *) task_report "$f" 5 0 ;; esac
	done
	echo "</scheduler_request>"
}

# By the project's Apache.
day_send() { # FILE
	curl -s -S -H "X-Day-Now: $now" -H "X-Day-Seed: $row" -H 'Content-Type: text/xml' --data-binary "@$1" \
	    "$server_url/day_cgi/scheduler" > "$work/o" 2> "$work/curl.err" || not_ok "$what: $(cat "$work/curl.err")"
	grep -q '</scheduler_reply>' "$work/o" || not_ok "$what: no reply: $(head -c 200 "$work/o")"
}

# --- what came of it

# The reply, into the array reply: its elements by name, sorted, messages into a file. "sent" is GROUP:COUNT@VERSION[/CLASS].
read_reply() {
	local tag text
	reply=()
	: > "$work/messages"
	while read -r tag text; do
		reply[$tag]+=${reply[$tag]:+ }$text
	done < <(awk -v messages="$work/messages" '
	function text(s) { sub(/^[^>]*>/, "", s); sub(/<.*/, "", s); gsub(/ +/, " ", s); return s }
	/<message[ >]/ { print text($0) > messages }
	/<(hostid|request_delay|delete_file_info)>/ { match($0, /<[a-z_]*/); print substr($0, RSTART + 1, RLENGTH - 1), text($0) }
	/<(result_ack|result_abort|result_abort_if_not_started)>/ { match($0, /<[a-z_]*/); list = substr($0, RSTART + 1, RLENGTH - 1) }
	/<\/result_/ { list = "" }
	list != "" && /<name>/ { print list, text($0) }
	/<file_info>/ { file = 1 }
	/<\/file_info>/ { file = 0 }
	file && /<name>F[0-9]*</ { print "file", text($0) }
	/^<result>/ { result = 1; name = version = class = "" }
	result && name == "" && /<name>/ { name = text($0) }
	result && /<version_num>/ { version = text($0) }
	result && /<plan_class>/ { class = text($0) }
	/^<\/result>/ {
		result = 0
		print "task", name
		if (class != "") print "class", name "/" class
		sub(/_[0-9]+_[0-9]+$/, "", name)
		n[name "@" version (class == "" ? "" : "/" class)]++
	}
	END { for (k in n) { i = index(k, "@"); print "sent", substr(k, 1, i - 1) ":" n[k] substr(k, i) } }' "$work/o" | sort)
}

# "REASON:JOBS ..." of explain's JSON, those that were not tried included.
left_json() {
	awk -F': *|,' '
	/^ "jobs"/ { jobs = $2 } /^ "sends"/ { sends = $2 } /^ "resends"/ { resends = $2 }
	/^ "rest"/ { gsub(/"/, "", $2); rest = $2 } /^ "work_wanted"/ { wanted = $2 }
	/^ "count": \[$/ { counts = 1 } /^ \]/ { counts = 0 }
	counts && /"why"/ { gsub(/"/, "", $2); why = $2 } counts && /"jobs"/ { n = $2 } counts && /"files"/ { files = $2 }
	counts && /^  }/ {
		if (n > 0) left[why] += n
		if (files > 0) left[why "/files"] += files
		all += n
		n = files = 0
	}
	END {
		n = jobs - (sends - resends) - all
		if (wanted && n != 0) left[rest] += n
		for (why in left) print why ":" left[why]
	}' "$work/json" | sort | xargs
}

# The same of its text for people.
left_text() {
	sed -nE 's/^  .* +[0-9]+ +([0-9]+)  ([A-Z_]+)(   <- .*)?$/\2:\1/p' "$work/text" | awk -F: '$2 > 0' | sort | xargs
}

row_is() { # WHAT GOT WANTED
	is "line $line, $what: $1" "$2" "$3"
}

row_is_list() { # WHAT GOT WANTED: got is sorted, wanted in any order
	local sorted=$3
	# shellcheck disable=SC2086
	[[ $3 != *' '* ]] || sorted=$(printf '%s\n' $3 | sort | xargs)
	row_is "$1" "$2" "$sorted"
}

# A prediction, and what becomes of it.
predict() { # GROUP WANTED: gets or a reason
	local job why
	job=$(sql "select name from result where name like '$1\\_%' and server_state = 2 order by id limit 1")
	"$build/tools/locus" -p "$project" explain job "$job" --host "${host_id[$name]}" --request "$work/r" --at $now -o json > "$work/json" 2> "$work/e.err"
	why=$(awk -F'"' '/"host":/ { host = 1 } host && /"why"/ { print $4 }' "$work/json")
	! grep -q '"would_get": true' "$work/json" || why=gets
	row_is "explain job $1" "${why:-$(cat "$work/e.err")}" "$2"
}

# What the row wants stands in the array want, by the first word of its lines.
play_request() { # HOST WORDS...
	local name=$1 what="$at $1" job wanted
	shift
	row=$((row + 1))
	choose_reports "$@"
	request_of "$name" "$@" > "$work/r"
	while read -r job wanted; do
		[ -z "$job" ] || predict "$job" "$wanted"
	done <<< "${want[job]:-}"
	day_send "$work/r"
	read_reply
	host_id[$name]=${reply[hostid]:-${host_id[$name]:-0}}
	# A client counts its requests anew with a new id; here the line counts them.
	sql "update host set rpc_seqno = $row where rpc_seqno <= 1"
	row_is_list "sent" "${reply[sent]:-}" "${want[gets]:-}"
	[ -z "${want[names]:-}" ] || row_is_list "tasks" "${reply[task]:-}" "${want[names]}"
	row_is "told" "$(grep -v '^Decision [0-9a-f]\{8\}: ' "$work/messages")" "${want[says]:-}"
	[[ ${want[says]:-} != 'No tasks sent: '* ]] || row_is "the number to ask by" "$(grep '^Decision ' "$work/messages")" \
	    "$(printf 'Decision %08x: %s' $row "${want[why]}")"
	row_is "delay" "${reply[request_delay]:-}" "${want[wait]:-61}.000000"
	row_is_list "to delete" "${reply[delete_file_info]:-}" "${want[deletes]:-}"
	row_is_list "to abort" "${reply[result_abort]:-}" "${want[aborts]:-}"
	row_is_list "to drop unless begun" "${reply[result_abort_if_not_started]:-}" "${want[unbegun]:-}"
	row_is_list "acknowledged" "${reply[result_ack]:-}" "${said[$name.reports]//[-!]/}"
	explained "${want[why]:-NONE}"
	remember
}

# Tasks that the host reports, by their groups: it has so many of each. GROUP:COUNT, with ! for those that failed.
choose_reports() {
	local w group n bad t
	said[$name.reports]=${said[$name.dropped]:-} # by order of the project
	said[$name.dropped]=
	word reports "$@"
	for w in ${value//,/ }; do
		bad=
		[[ $w != *! ]] || bad=! w=${w%!}
		group=${w%:*} n=${w#*:}
		for t in ${tasks[$name]:-}; do
			[[ $t == "$group"_* && " ${said[$name.reports]} " != *" $t"[\ !-]* ]] && ((n-- > 0)) && said[$name.reports]+=" $t$bad"
		done
		((n <= 0)) || not_ok "$what: $name has not so many tasks of $group: ${tasks[$name]:-}"
	done
	for t in ${said[$name.reports]//!/}; do
		tasks[$name]=$(printf '%s\n' ${tasks[$name]} | grep -vxF "$t" | xargs)
	done
}

# "locus explain host" tells people and programs the same, and it is what the table says.
explained() { # REASON
	local stopped w people=
	"$build/tools/locus" -p "$project" explain host "${host_id[$name]}" > "$work/text" 2> "$work/e.err" || not_ok "$what: $(cat "$work/e.err")"
	"$build/tools/locus" -p "$project" explain host "${host_id[$name]}" -o json > "$work/json"
	row_is "the decisive reason" "$(awk -F'"' '/^ "refused":/ && $4 != "" { r = $4 } /^ "why":/ && r == "" { r = $4 } END { print r }' "$work/json")" "$1"
	stopped=$(sed -nE 's/.* ([A-Z_]+)(: .*)?   <- this stopped it/\1/p' "$work/text")
	row_is "what stopped it" "${stopped:-NONE}" "$1"
	row_is_list "left out" "$(left_json)" "${want[left]:-}"
	for w in ${want[left]:-}; do [[ $w == */files:* ]] || people+="${people:+ }$w"; done
	row_is_list "left out, for people" "$(left_text)" "$people"
}

# What the host has then.
remember() {
	local t left=
	for t in ${reply[result_abort]:-}; do said[$name.dropped]+=" $t-"; done
	for t in ${reply[class]:-}; do class[${t%%/*}]="<plan_class>${t#*/}</plan_class>"; done
	for t in ${tasks[$name]:-}; do
		[[ " ${reply[result_abort]:-} ${reply[task]:-} " == *" $t "* ]] || left+=" $t"
	done
	tasks[$name]="${left# }${reply[task]:+ ${reply[task]}}"
	for t in ${reply[file]:-}; do
		[[ " ${said[$name.files]:-} " == *" $t "* ]] || said[$name.files]+=" $t"
	done
	left=
	for t in ${said[$name.files]:-}; do
		[[ " ${reply[delete_file_info]:-} " == *" $t "* ]] || left+=" $t"
	done
	said[$name.files]=$left
}

# --- at the end of the day

# Every result is where the table and the hosts say; nothing is lost, and nothing went to two hosts.
day_accounts() {
	local name t
	for name in "${!tasks[@]}"; do
		for t in ${tasks[$name]}; do echo "$t ${host_id[$name]}"; done
	done | sort > "$work/hosts_have"
	sql "select concat(name, ' ', hostid) from result where server_state = 4 or (server_state = 5 and outcome = 4)" | sort > "$work/sent_out"
	if diff "$work/hosts_have" "$work/sent_out" > "$work/diff"; then
		ok "what the hosts have is what the project has sent them: $(wc -l < "$work/sent_out") tasks"
	else
		not_ok "hosts (<) and project (>) differ: $(head -n 10 "$work/diff")"
	fi
	t=$(sql "select count(*) from result where server_state = 2")
	ok "$(sql 'select count(*) from result') results: $t unsent, $(wc -l < "$work/sent_out") out, $(sql "select count(*) from result where server_state = 5 and outcome <> 4") over"
	at_this_time "$build/tools/locus" -p "$project" fsck
	if grep -qE '^[A-Z_]+ ' "$work/said"; then not_ok "fsck: $(head -n 5 "$work/said")"; else ok "fsck: $(tail -n 1 "$work/said")"; fi
}

# --- the table

declare -A want=()
line=0 asked_line=0

play_row() { # what was read last, with its lines
	local at=$1 who=$2 verb=$3
	shift 3
	local asks=("$@") here=$line
	now=$((MIDNIGHT + $(clock "$at")))
	line=$asked_line
	if [ "$verb" = asks ]; then
		play_request "$who" "${asks[@]}"
	elif [ "$who" = work ]; then
		play_work "$verb" "${asks[@]}"
	else
		"play_$who" "$verb" "${asks[@]}"
	fi
	line=$here
}

# New hosts, which ask for nothing yet. All others are new when they ask for the first time.
play_attach() { # HOST...
	local name
	for name in "$@"; do
		want=() now=$((now + 1))
		play_request "$name"
	done
}

play_table() { # FILE
	local words row_words=() name
	while read -r -a words; do
		line=$((line + 1))
		case ${words[0]:-#} in
		'#'*) continue ;;
		host)
			name=${words[1]}
			host[$name]=${words[*]:2}
			word files "${words[@]}"
			said[$name.files]=${value//,/ }
			;;
		app | version | account | file)
			"setup_${words[0]}" "${words[@]:1}" >> "$work/setup.sql"
			;;
		[0-9]*)
			[ ${#row_words[@]} = 0 ] || play_row "${row_words[@]}"
			row_words=("${words[@]}") asked_line=$line
			want=()
			;;
		job) want[job]+="${words[*]:1}"$'\n' ;;
		says) want[says]+="${want[says]:+$'\n'}${words[*]:1}" ;;
		gets | names | left | why | wait | deletes | aborts | unbegun) want[${words[0]}]="${words[*]:1}" ;;
		begin) sql < "$work/setup.sql" || exit 1 ;;
		*) not_ok "line $line of the table: ${words[*]}" ;;
		esac
	done < "$1"
	[ ${#row_words[@]} = 0 ] || play_row "${row_words[@]}"
}
