# SPDX-License-Identifier: Apache-2.0
# For tests of the FastCGI programs: a private project directory with an Apache of its own, made from the
# template that locus create uses.  Sourced; needs $source and $build, as run-it sets them.  Everything is below $T.
. "$source/test/it/mariadb.sh"
. "$source/test/it/project.sh"
T=$(mktemp -d "${TMPDIR:-/tmp}/locus-sched.XXXXXX") || exit 1
DB=$T/db
PIDS=
FAILED=0
PASSED=0

cleanup() {
	for p in $PIDS; do kill "$p" 2>/dev/null; done
	for p in $PIDS; do wait "$p" 2>/dev/null; done
	PIDS=
	mariadb_stop "$DB"
}
tidy() { if [ "$FAILED" = 0 ]; then rm -rf "$T"; else echo "kept: $T" >&2; fi; }
trap 'cleanup; tidy' EXIT

ok() { PASSED=$((PASSED + 1)); echo "ok: $1"; }
not_ok() { FAILED=$((FAILED + 1)); echo "FAIL: $1"; }
finish() {
	if "$build/test/check_reply" "$T/rpcs" > "$T/check.log"; then
		ok "every reply is one that clients take: $(tail -n 1 "$T/check.log")"
	else
		not_ok "replies that clients do not take:"
		head -n 15 "$T/check.log"
	fi
	echo "${scenario:-$(basename "$0")}: $PASSED passed, $FAILED failed"
	[ "$FAILED" = 0 ]
	exit
}
# expect NAME PATTERN FILE: the file has a line with the pattern
expect() {
	if grep -q -- "$2" "$3"; then ok "$1"; else not_ok "$1: no $2 in:"; head -c 150 "$3" | tr "\n" " "; echo; fi
}
skip() { echo "skipped: $1"; echo "$(basename "$0"): 0 passed, 0 failed"; exit 0; }

# make_project CONFIG_LINES [NAME]: directories, config.xml
make_project() {
	P=$T/${2:-project}
	PORT=$(free_port)
	URL=http://127.0.0.1:$PORT
	[ -n "${NO_RPCS:-}" ] || mkdir -m 1777 "$T/rpcs" # of all that schedulers answer, whatever account they run as
	mkdir -p "$P/keys" "$P/download" "$P/upload" "$P/log" "$P/run" "$P/html"
	cp "$source"/html/*.html "$source"/html/*.css "$P/html/" 2>/dev/null
	cat > "$P/config.xml" <<-XML
	<boinc><config>
	<master_url>$URL/stars/</master_url>
	<long_name>Stars &amp; Stripes</long_name>
	<scheduler_url>$URL/stars_cgi/cgi</scheduler_url>
	<upload_url>$URL/stars_cgi/file_upload_handler</upload_url>
	<download_url>$URL/stars/download</download_url>
	${NO_RPCS:-<debug_req_reply_dir>$T/rpcs</debug_req_reply_dir>}
	$1
	</config></boinc>
	XML
}

# make_project_with_db CONFIG_LINES: a key and a database too, with the rows of sched-project.sql; with ADOPTED=1 it was a
# BOINC project's before.
make_project_with_db() {
	command -v mariadbd >/dev/null || skip "mariadb-server is not installed"
	mkdir -p "$DB" && chmod 755 "$T"
	mariadb_start "$DB" || exit 1
	make_project "<db_name>stars</db_name><db_user>root</db_user><db_socket>$DB/mysql.sock</db_socket>
<locality_scheduling>1</locality_scheduling>$1"
	mkdir -p "$P"/locality_scheduling/{need_work,no_work_available,file_working_set,files_no_work}
	public_key > "$P/keys/code_sign_public"
	mariadb_sql "$DB" <<<'CREATE DATABASE stars' || exit 1
	if [ -n "${ADOPTED:-}" ]; then
		boinc_schema | mariadb_sql "$DB" stars || exit 1
		"$build/inst/bin/locus" -p "$P" schema upgrade >"$T/upgrade" && "$build/inst/bin/locus" -p "$P" schema check >"$T/check" || {
			cat "$T/check"
			exit 1
		}
	else
		mariadb_sql "$DB" stars <"$source/db/schema.sql" || exit 1
	fi
	mariadb_sql "$DB" stars <"$source/test/it/sched-project.sql" || exit 1
}
sql() { mariadb_sql "$DB" stars -N -e "$1"; }

# A public key of the format, made up.
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

start_apache() {
	mods=/usr/lib/apache2/modules
	apache=$(command -v apache2 || command -v httpd || echo /usr/sbin/apache2)
	[ -x "$apache" ] || skip "apache2 is not installed"
	run_as=
	# As root Apache wants an account to drop to, and that account the project.
	if [ "$(id -u)" = 0 ]; then
		id nobody >/dev/null 2>&1 || skip "no account nobody to run Apache as"
		chown -R nobody "$P"
		chmod 755 "$T"
		run_as="setpriv --reuid=nobody --regid=nogroup --clear-groups --"
	fi
	[ -n "${NO_SERVICES:-}" ] || start_services
	sed -e "s|@NAME@|stars|g; s|@PORT@|$PORT|g; s|@DIR@|$P|g; s|@RUN@|$P/run|g; s|@LOG@|$P/log|g" \
	    -e "s|@DOWNLOAD@|$P/download|g; s|@DATA@|$source/html|g; s|@SCHEDULER@|$P/run/scheduler.sock|g" \
	    -e "s|@WEB@|$P/run/web.sock|g; s|@UPLOAD@|$P/run/upload.sock|g; s|@MODULES@|$mods|g" \
	    -e "s|@LOCUS@|${LIBEXEC:-$build}/mod_locus.so|g; s|@SLOW@|100|g; s|@PROXIES@|0|g" \
	    "$source/html/apache-private.conf.in" > "$P/run/httpd.conf"
	[ -z "${MORE_APACHE:-}" ] || cat "$MORE_APACHE" >> "$P/run/httpd.conf"
	$run_as "$apache" -f "$P/run/httpd.conf" -D FOREGROUND 2>"$T/apache.err" &
	APACHE_PID=$!
	PIDS="$PIDS $APACHE_PID"
	wait_for "curl -s -o /dev/null $URL/stars/download/x"
}

# Scheduler and web on their sockets, as the supervisor would start them, with $SERVE_OPTIONS.
start_services() {
	for i in scheduler web; do
		# shellcheck disable=SC2086 # options are words
		$run_as "${LIBEXEC:-$build}/$i" --project "$P" ${SERVE_OPTIONS:-} 2>>"$T/$i.err" &
		eval "${i}_pid=$!"
		PIDS="$PIDS $!"
	done
	wait_for "[ -S $P/run/scheduler.sock ] && [ -S $P/run/web.sock ]"
}

start_uploads() {
	$run_as "$build/file_upload_handler" --project "$P" --log "$P/log/file_upload_handler.log" &
	UPLOAD_PID=$!
	PIDS="$PIDS $UPLOAD_PID"
	wait_for "[ -S $P/run/upload.sock ]"
}

# At most five minutes: no test fails for being slow.
wait_for() {
	i=0
	until eval "$1"; do
		i=$((i + 1))
		[ $i -lt 3000 ] || { not_ok "waited for: $1"; cat "$T"/*.err; exit 1; }
		sleep 0.1
	done
}
