#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Web pages, web RPCs, the scheduler and downloads through a private Apache, as clients see them.
set -u
top_srcdir=${top_srcdir:-$(cd "$(dirname "$0")/../.." && pwd)}
top_builddir=${top_builddir:-$PWD}
top_srcdir=$(cd "$top_srcdir" && pwd)
top_builddir=$(cd "$top_builddir" && pwd)
. "$top_srcdir/test/it/mariadb.sh"
. "$top_srcdir/test/it/sched-lib.sh"
command -v mariadbd >/dev/null || skip "mariadb-server is not installed"

DB=$T/db
mkdir "$DB" && chmod 755 "$T"
mariadb_start "$DB" || exit 1
trap 'cleanup; mariadb_stop "$DB"; [ "$FAILED" = 1 ] || rm -rf "$T"' EXIT
sql() { mariadb_sql "$DB" stars -N -e "$1"; }
MAXBODY=1000000
make_project "<db_name>stars</db_name><db_user>root</db_user><db_socket>$DB/mysql.sock</db_socket>
<locality_scheduling>1</locality_scheduling><max_request_bytes>$MAXBODY</max_request_bytes>
<ignore_upload_certificates>1</ignore_upload_certificates>"
mkdir -p "$P"/locality_scheduling/{need_work,no_work_available,file_working_set,files_no_work}
public_key > "$P/keys/code_sign_public"
echo 'create database stars' | mariadb_sql "$DB"
mariadb_sql "$DB" stars < "$top_srcdir/db/schema.sql"
mariadb_sql "$DB" stars < "$top_srcdir/test/it/sched-project.sql"
mkdir -p "$P/download/8a"
head -c 10000 /dev/urandom > "$P/download/8a/input_42"
start_apache
start_uploads

get() { curl -s -D "$T/h" -o "$T/o" "$URL$1"; }
status() { expect "$1: HTTP $2" "^HTTP/1.1 $2" "$T/h"; }

# --- pages ---
get /stars/
status "home" 200
expect "scheduler link in column 0" "^<link rel=\"boinc_scheduler\" href=\"$URL/stars_cgi/cgi\">" "$T/o"
expect "scheduler comment" "^<!-- <scheduler>$URL/stars_cgi/cgi</scheduler> -->" "$T/o"
expect "escaped name" 'Stars &amp; Stripes' "$T/o"
expect "CSP" "^Content-Security-Policy: default-src 'self'" "$T/h"
expect "nosniff" '^X-Content-Type-Options: nosniff' "$T/h"
get /stars; status "without the slash" 301
get '/stars/nonesuch<script>.php?a=1'; status "no such page" 404
grep -q '<script>' "$T/o" && not_ok "the path came back raw" || ok "the path does not come back"
get /stars/style.css; expect "style sheet" '^Content-Type: text/css' "$T/h"
get /stars/server_status.php; status "server status" 200
expect "tasks ready" 'Tasks ready to send</th><td>24<' "$T/o"
get '/stars/server_status.php?xml=1'; expect "as XML" '<results_ready_to_send>24</results_ready_to_send>' "$T/o"
get /stars/get_project_config.php; expect "project config" '<master_url>' "$T/o"
expect "platforms" '<platform_name>x86_64-pc-linux-gnu<' "$T/o"

# --- accounts ---
hash=$(printf 'secret12joe@example.org' | md5sum | cut -c1-32)
new="email_addr=Joe%40example%2Eorg&passwd_hash=$hash&user_name=Joe%20the%20First"
get "/stars/create_account.php?$new"; status "create_account" 200
key=$(sed -n 's/.*<authenticator>\(.*\)<.*/\1/p' "$T/o")
[ ${#key} = 32 ] && ok "a key" || not_ok "no key: $(cat "$T/o")"
[ "$(sql "select concat(email_addr, name) from user where authenticator = '$key'")" = 'joe@example.orgJoe the First' ] && ok "the account" || not_ok "account row"
sql "select passwd_hash from user where authenticator = '$key'" | grep -q '^\$2y\$' && ok "bcrypt" || not_ok "no bcrypt"
get "/stars/create_account.php?$new"; expect "again: the same key" "$key" "$T/o"
get "/stars/lookup_account.php?email_addr=joe%40example%2Eorg&passwd_hash=$hash"; expect "lookup" "$key" "$T/o"
get "/stars/lookup_account.php?email_addr=joe%40example%2Eorg"; expect "is there such an account" '<success/>' "$T/o"
error() { get "/stars/$2"; expect "$1" "<error_num>$3<" "$T/o"; status "  " 200; }
error "wrong password" "lookup_account.php?email_addr=joe%40example%2Eorg&passwd_hash=${hash/[0-9]/e}" -206
error "unknown address" "lookup_account.php?email_addr=jim%40example%2Eorg&passwd_hash=$hash" -136
error "taken address" "create_account.php?${new/$hash/ffffffffffffffffffffffffffffffff}" -137
error "bad address" "create_account.php?email_addr=x&passwd_hash=$hash&user_name=x" -205
error "bad hash" "create_account.php?email_addr=a%40b.org&passwd_hash=1&user_name=x" -206
error "bad name" "create_account.php?email_addr=a%40b.org&passwd_hash=$hash&user_name=%3Cb%3E" -188
error "a name that is a number" "create_account.php?email_addr=a%40b.org&passwd_hash=$hash&user_name=12" -188
error "SQL in it" "lookup_account.php?email_addr=%27%20or%20%271%27%3D%271&passwd_hash=$hash" -136
old=$(printf 'secretuser@example.com' | md5sum | cut -c1-32)
get "/stars/lookup_account.php?email_addr=user%40example.com&passwd_hash=$old"; expect "an old plain hash" '4e6a693a' "$T/o"
sql "select passwd_hash from user where id = 1" | grep -q '^\$2y\$' && ok "is replaced" || not_ok "still plain"

# --- the scheduler ---
G=$top_srcdir/test/golden/captures
rpc() { curl -s -D "$T/h" -o "$T/o" -H 'Content-Type: application/x-www-form-urlencoded' --data-binary "@$1" "$URL/stars_cgi/cgi"; }
rpc "$G/01-first-contact.request.xml"; status "a request" 200
expect "its reply" '<hostid>' "$T/o"
pids=$(pgrep -P "$(cat "$P/run/apache.pid")" | sort | tr '\n' ' ')
curl -s -o "$T/o" "$URL/stars_cgi/cgi"; expect "GET" 'Error in request' "$T/o"
head -c $((MAXBODY - 1000)) /dev/urandom > "$T/r"; rpc "$T/r"; status "garbage" 200; expect "is answered" '<scheduler_reply>' "$T/o"
curl -s -D "$T/h" -o "$T/o" -H 'Transfer-Encoding: chunked' -H 'Expect:' -T "$G/01-first-contact.request.xml" -X POST "$URL/stars_cgi/cgi"
expect "chunked" '<scheduler_reply>' "$T/o"
head -c $((MAXBODY + 5000)) /dev/zero > "$T/r"; rpc "$T/r"; status "over the cap" 413
curl -s -D "$T/h" -o "$T/o" -H 'Transfer-Encoding: chunked' -H 'Expect:' -T "$T/r" -X POST "$URL/stars_cgi/cgi"; status "over the cap, chunked" 413
get "/stars/create_account.php?$new"; expect "all live on" "$key" "$T/o"

# --- downloads ---
get /stars/download/8a/input_42; status "download" 200
cmp -s "$T/o" "$P/download/8a/input_42" && ok "it is the file" || not_ok "another file"
curl -s -r 5000- -D "$T/h" -o "$T/o" "$URL/stars/download/8a/input_42"; status "range" 206
get /stars/download/8a/; status "no index" 404
get /stars/download/8a/../../config.xml; grep -q db_name "$T/o" && not_ok "config.xml is served" || ok "nothing else is served"
get /stars/download/8a/..%2f..%2fconfig.xml; grep -q db_name "$T/o" && not_ok "config.xml is served" || ok "nor by tricks"
get /config.xml; status "outside" 404
get /stars/download/nonesuch; status "absent" 404
ln -s "$P/config.xml" "$P/download/8a/link"; get /stars/download/8a/input_42; status "still" 200

# --- stops ---
touch "$P/stop_web" "$P/stop_sched"
error "stop_web" "lookup_account.php?email_addr=joe%40example%2Eorg&passwd_hash=$hash" -183
get /stars/server_status.php; status "pages" 503
get /stars/get_project_config.php; expect "config says so" '<web_stopped>1<' "$T/o"
get /stars/; expect "the master page stays" boinc_scheduler "$T/o"
rpc "$G/01-first-contact.request.xml"; expect "stop_sched" '<project_is_down/>' "$T/o"
rm "$P/stop_web" "$P/stop_sched"

# --- the database goes and comes back; the processes live on ---
mariadb_stop "$DB"
rpc "$G/01-first-contact.request.xml"; status "no database" 200; expect "down" '<project_is_down/>' "$T/o"
error "web RPC" "lookup_account.php?email_addr=joe%40example%2Eorg&passwd_hash=$hash" -138
get /stars/server_status.php; status "status page" 200
mariadb_start "$DB" || exit 1
rpc "$G/01-first-contact.request.xml"; expect "it is back" '<userid>' "$T/o"
get "/stars/lookup_account.php?email_addr=joe%40example%2Eorg&passwd_hash=$hash"; expect "web RPC too" "$key" "$T/o"
# a changed configuration is taken up
sed -i 's|Stars &amp; Stripes|Stars and more|' "$P/config.xml"
get /stars/; expect "new configuration" 'Stars and more' "$T/o"
echo nonsense > "$P/config.xml.new"; cp "$P/config.xml" "$T/good"; cp "$P/config.xml.new" "$P/config.xml"; touch -d '+5 seconds' "$P/config.xml"
rpc "$G/01-first-contact.request.xml"; status "a bad configuration" 200; expect "down" '<project_is_down/>' "$T/o"
cp "$T/good" "$P/config.xml"; touch -d '+9 seconds' "$P/config.xml"
rpc "$G/01-first-contact.request.xml"; expect "and back" '<userid>' "$T/o"
gone=0; for p in $pids; do kill -0 "$p" 2>/dev/null || gone=1; done
[ $gone = 0 ] && ok "no process died" || not_ok "a process died"
grep -E 'Sanitizer|runtime error' "$P"/log/* && not_ok "the sanitizers complain" || ok "no sanitizer complains"
exit $FAILED
