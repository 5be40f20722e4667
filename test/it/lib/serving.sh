# SPDX-License-Identifier: Apache-2.0
# A bare project: its directory and database without "locus create" and without a supervisor. Scenarios call single
# programs on it, or start Apache and the services one by one. Apache's configuration is made from the template that
# "locus create" uses.
#
# Set before apache_start: $service_dir (the services' programs), $service_options, $apache_lines (a file of lines for the
# end of the configuration), $no_services (not '': Apache only).

children='' # pids that the end kills
run_as='' service_dir=$build service_options='' apache_lines='' no_services=''

serving_stop() {
	local pid
	for pid in $children; do kill "$pid" 2>/dev/null; done
	for pid in $children; do wait "$pid" 2>/dev/null; done
	children=''
	mariadb_stop "$db_dir"
}

# The private database server of this scenario, in $db_dir.
database_start() { # [SERVER-OPTION...]
	command -v mariadbd >/dev/null || [[ -n ${LOCUS_TEST_MYSQLD:-} ]] || skip "mariadb-server is not installed"
	mkdir -p "$db_dir"
	at_end serving_stop
	mariadb_start "$db_dir" "$@" || exit 1
}

# Makes directories and config.xml; $server_url leads to the web server that apache_start will start.
bare_project() { # CONFIG-LINES [NAME]
	project=$work/${2:-project}
	http_port=$(free_port)
	server_url=http://127.0.0.1:$http_port
	upload_url=$server_url/stars_cgi/file_upload_handler
	mkdir -p "$project/keys" "$project/download" "$project/upload" "$project/log" "$project/run" "$project/html"
	cp "$source"/html/*.html "$source"/html/*.css "$project/html/" 2>/dev/null
	cat >"$project/config.xml" <<-XML
	<boinc><config>
	<master_url>$server_url/stars/</master_url>
	<long_name>Stars &amp; Stripes</long_name>
	<scheduler_url>$server_url/stars_cgi/cgi</scheduler_url>
	<upload_url>$upload_url</upload_url>
	<download_url>$server_url/stars/download</download_url>
	${keep_rpcs:+<debug_req_reply_dir>$keep_rpcs</debug_req_reply_dir>}
	$1
	</config></boinc>
	XML
}

trigger_dirs() {
	mkdir -p "$project"/locality_scheduling/{need_work,no_work_available,file_working_set,files_no_work}
}

# A bare project with a key, and a database with the rows of sched-project.sql. With ADOPTED=1 the database was a BOINC
# project's before.
bare_project_with_db() { # CONFIG-LINES
	database_start
	bare_project "<db_name>stars</db_name><db_user>root</db_user><db_socket>$db_dir/mysql.sock</db_socket>
<locality_scheduling>1</locality_scheduling>$1"
	trigger_dirs
	public_key >"$project/keys/code_sign_public"
	mariadb_sql "$db_dir" <<<'CREATE DATABASE stars' || exit 1
	db_name=stars app=search
	if [[ -n ${ADOPTED:-} ]]; then
		boinc_schema | sql || exit 1
		"$build/tools/locus" -p "$project" schema upgrade >"$work/upgrade" &&
			"$build/tools/locus" -p "$project" schema check >"$work/check" || {
			cat "$work/check"
			exit 1
		}
	else
		sql <"$source/db/schema.sql" || exit 1
	fi
	sched_project | sql || exit 1
}

# A public key in the format of BOINC, made up.
public_key() {
	cat <<-KEY
	1024
	fadae02223c2fcc2744576bb5a65bcbe6bfa3f076b5f642a188666ac27ac7456
	59df0047f70da9e2edbfc33d99a3a4f0eca64bd9d8af894d1f12b91fb63b822b
	1935fbf1bdefa96bdd565489aceb2408fd3177e8ae68bf2e9d9383089562861a
	956f5fb2c03af7fe6f67599499882a0d93a505094ea280f42cef619484e43ff9
	0000000000000000000000000000000000000000000000000000000000000000
	0000000000000000000000000000000000000000000000000000000000000000
	0000000000000000000000000000000000000000000000000000000000000000
	0000000000000000000000000000000000000000000000000000000000010001
	.
	KEY
}

# Starts Apache and the scheduler and web services. Its pid is $apache_pid, its requests' way to run a program as its
# account $run_as.
apache_start() {
	local mods=/usr/lib/apache2/modules apache
	apache=$(command -v apache2 || command -v httpd || echo /usr/sbin/apache2)
	[[ -x $apache ]] || skip "apache2 is not installed"
	run_as=
	# Apache started by root needs an account to drop to; the project belongs to the same one.
	if [[ $(id -u) == 0 ]]; then
		id nobody >/dev/null 2>&1 || skip "no account nobody to run Apache as"
		chown -R nobody "$project"
		run_as="setpriv --reuid=nobody --regid=nogroup --clear-groups --"
	fi
	at_end serving_stop
	[[ -n $no_services ]] || services_start
	sed -e "s|@NAME@|stars|g; s|@PORT@|$http_port|g; s|@DIR@|$project|g; s|@RUN@|$project/run|g; s|@LOG@|$project/log|g" \
	    -e "s|@DOWNLOAD@|$project/download|g; s|@DATA@|$source/html|g; s|@SCHEDULER@|$project/run/scheduler.sock|g" \
	    -e "s|@WEB@|$project/run/web.sock|g; s|@UPLOAD@|$project/run/upload.sock|g; s|@MODULES@|$mods|g" \
	    -e "s|@LOCUS@|$service_dir/mod_locus.so|g; s|@SLOW@|100|g; s|@PROXIES@|0|g" \
	    "$source/html/apache-private.conf.in" >"$project/run/httpd.conf"
	[[ -z $apache_lines ]] || cat "$apache_lines" >>"$project/run/httpd.conf"
	$run_as "$apache" -f "$project/run/httpd.conf" -D FOREGROUND 2>"$work/apache.err" &
	apache_pid=$!
	children="$children $apache_pid"
	wait_for "curl -s -o /dev/null $server_url/stars/download/x"
}

# The scheduler and web services on their sockets, as the supervisor would start them: $scheduler_pid, $web_pid.
services_start() {
	local service
	for service in scheduler web; do
		# shellcheck disable=SC2086 # options are words
		$run_as "$service_dir/$service" --project "$project" $service_options 2>>"$work/$service.err" &
		eval "${service}_pid=$!"
		children="$children $!"
	done
	wait_for "[[ -S $project/run/scheduler.sock && -S $project/run/web.sock ]]"
}

uploads_start() { # the upload service: $upload_pid
	$run_as "$build/file_upload_handler" --project "$project" --log "$project/log/file_upload_handler.log" &
	upload_pid=$!
	children="$children $upload_pid"
	wait_for "[[ -S $project/run/upload.sock ]]"
}

uploads_stop() {
	kill "$upload_pid"
	wait "$upload_pid"
}
