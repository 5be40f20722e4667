#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Uploads through a private Apache: both phases, resume, refusals, a 1 GiB file in little memory, 50 slow
# uploads beside a fast one, two uploads of one file at once, a broken-off one, a stop.
# LOCUS_BIG=0 leaves the 1 GiB upload out.
set -u
top_srcdir=${top_srcdir:-$(cd "$(dirname "$0")/../.." && pwd)}
top_builddir=${top_builddir:-$PWD}
top_srcdir=$(cd "$top_srcdir" && pwd)
top_builddir=$(cd "$top_builddir" && pwd)
. "$top_srcdir/test/it/sched-lib.sh"

UP=/stars_cgi/file_upload_handler
# head NAME NBYTES OFFSET MD5 [SIGNATURE [MAX]]
head_of() {
	printf '<data_server_request>\n    <core_client_major_version>7</core_client_major_version>\n'
	printf '    <core_client_minor_version>20</core_client_minor_version>\n    <core_client_release>5</core_client_release>\n'
	printf '<file_upload>\n<file_info>\n<name>%s</name>\n<xml_signature>\n%s</xml_signature>\n' "$1" "${5:-}"
	printf '<max_nbytes>%s</max_nbytes>\n</file_info>\n<nbytes>%s</nbytes>\n<md5_cksum>%s</md5_cksum>\n<offset>%s</offset>\n<data>\n' \
	    "${6:-2000000000}" "$2" "$4" "$3"
}
query() { # NAME
	printf '<data_server_request>\n<get_file_size>%s</get_file_size>\n</data_server_request>\n' "$1" |
	    curl -s --data-binary @- "$URL$UP"
}
post() { curl -s -H 'Expect:' --data-binary @- "$URL$UP"; }
stored() { find "$P/upload" -name "$1" -type f | head -1; }

make_project '<ignore_upload_certificates>1</ignore_upload_certificates><upload_min_free_bytes>1000</upload_min_free_bytes>'
mkdir -p "$T/c"
head -c 70000 /dev/urandom > "$T/c/f"
md5=$(md5sum < "$T/c/f" | cut -c1-32)
start_apache
start_uploads

query nothing_here > "$T/o"; expect "size of an absent file" '<file_size>0<' "$T/o"
(head_of f1 70000 0 "$md5"; cat "$T/c/f") | post > "$T/o"; expect "a whole upload" '<status>0<' "$T/o"
cmp -s "$T/c/f" "$(stored f1)" && ok "it is there" || not_ok "f1 is not what was sent"
query f1 > "$T/o"; expect "its size" '<file_size>70000<' "$T/o"
(head_of f1 70000 0 "$md5"; head -c 70000 /dev/zero) | post > "$T/o"; expect "again: success" '<status>0<' "$T/o"
cmp -s "$T/c/f" "$(stored f1)" && ok "and it is unchanged" || not_ok "f1 was overwritten"

(head_of f2 70000 0 "$md5"; head -c 30000 "$T/c/f") | post > "$T/o"; expect "a short body is transient" '<status>1<' "$T/o"
[ -z "$(stored f2)" ] && ok "a part is not the whole" || not_ok "f2 looks whole"
query f2 > "$T/o"; expect "size of the part" '<file_size>30000<' "$T/o"
(head_of f2 70000 30000 "$md5"; tail -c +30001 "$T/c/f") | post > "$T/o"; expect "resumed" '<status>0<' "$T/o"
cmp -s "$T/c/f" "$(stored f2)" && ok "f2 is whole" || not_ok "f2 is not what was sent"
(head_of f3 70000 5000 "$md5"; head -c 65000 "$T/c/f") | post > "$T/o"; expect "offset past the end is transient" '<status>1<' "$T/o"
(head_of f4 70000 0 "$md5"; head -c 70000 /dev/zero) | post > "$T/o"; expect "wrong MD5 is transient" '<status>1<' "$T/o"
query f4 > "$T/o"; expect "and starts again" '<file_size>0<' "$T/o"
(head_of empty 0 0 d41d8cd98f00b204e9800998ecf8427e) | post > "$T/o"; expect "an empty file" '<status>0<' "$T/o"
[ -e "$(stored empty)" ] && ok "it is there" || not_ok "the empty file is missing"
for bad in '../x' '..' 'a/b' '/etc/x' '.hidden' '' 'x.part' "$(head -c 300 /dev/zero | tr '\0' a)"; do
	(head_of "$bad" 5 0 ''; echo hello) | post > "$T/o"
	expect "name $(printf %q "${bad:0:20}") is refused for good" '<status>-1<' "$T/o"
done
printf 'nonsense' | post > "$T/o"; expect "nonsense" '<status>1<' "$T/o"
head -c 20000 /dev/urandom | post > "$T/o"; expect "garbage" '<status>-1<' "$T/o"
curl -s "$URL$UP" > "$T/o"; expect "GET" '<status>1<' "$T/o"
find "$T" -newer "$P/config.xml" -name x -o -name b | grep -q . && not_ok "something was written outside" || ok "nothing outside the upload directory"

touch "$P/stop_upload"
(head_of f5 70000 0 "$md5"; cat "$T/c/f") | post > "$T/o"; expect "stop_upload" 'temporarily disabled' "$T/o"
rm "$P/stop_upload"

# Two at once: one is slow and holds the file.
(head_of f6 70000 0 "$md5"; head -c 40000 "$T/c/f"; sleep 3; tail -c +40001 "$T/c/f") |
    curl -s -H 'Expect:' -H 'Transfer-Encoding: chunked' -T - -X POST "$URL$UP" > "$T/slow" &
slow=$!
sleep 1
(head_of f6 70000 0 "$md5"; cat "$T/c/f") | post > "$T/o"; expect "a second upload of it waits" 'locked' "$T/o"
wait $slow; expect "the first one succeeds, chunked" '<status>0<' "$T/slow"

# Broken off: what came before stays.
(head_of f7 70000 0 "$md5"; head -c 40000 "$T/c/f"; sleep 20) |
    curl -s -m 2 -H 'Expect:' -H 'Transfer-Encoding: chunked' -T - -X POST "$URL$UP" > "$T/o"
sleep 0.5
query f7 > "$T/o"; expect "what was broken off is kept" '<file_size>40000<' "$T/o"

# 50 slow ones, then a fast one.
slow=
for i in $(seq 50); do
	(head_of "s$i" 70000 0 "$md5"; head -c 1000 "$T/c/f"; sleep 6; tail -c +1001 "$T/c/f") |
	    curl -s -H 'Expect:' -H 'Transfer-Encoding: chunked' -T - -X POST "$URL$UP" > "$T/s$i" &
	slow="$slow $!"
done
wait_for '[ "$(find "$P/upload" -name "s*.part" | wc -l)" = 50 ]' && ok "50 uploads are under way"
start=$(date +%s%N)
(head_of fast 70000 0 "$md5"; cat "$T/c/f") | post > "$T/o"
ms=$((($(date +%s%N) - start) / 1000000))
expect "a fast one among them" '<status>0<' "$T/o"
[ "$(grep -l '<status>' "$T"/s? "$T"/s?? 2>/dev/null | wc -l)" = 0 ] && ok "it was not delayed ($ms ms; the 50 still run)" ||
    not_ok "the slow ones ended before the fast one"
rss=$(awk '/VmRSS/ {print $2}' "/proc/$UPLOAD_PID/status")
for p in $slow; do wait "$p"; done
[ "$(grep -l '<status>0<' "$T"/s? "$T"/s?? | wc -l)" = 50 ] && ok "all 50 succeed (VmRSS $rss kB meanwhile)" || not_ok "some slow uploads failed"

if [ "${LOCUS_BIG:-1}" != 0 ]; then
	size=1073741824
	bigmd5=$(head -c $size /dev/zero | md5sum | cut -c1-32)
	(head_of big $size 0 "$bigmd5"; head -c $size /dev/zero) | curl -s -H 'Expect:' -H 'Transfer-Encoding: chunked' -T - -X POST "$URL$UP" > "$T/o"
	expect "1 GiB" '<status>0<' "$T/o"
	[ "$(stat -c %s "$(stored big)")" = $size ] && ok "all of it is there" || not_ok "big has another size"
	hwm=$(awk '/VmHWM/ {print $2}' "/proc/$UPLOAD_PID/status")
	[ "$hwm" -le 32768 ] && ok "at most $hwm kB of memory" || not_ok "$hwm kB of memory"
	rm -f "$(stored big)"
fi

# SIGTERM in the middle of an upload: it finishes.
(head_of f8 70000 0 "$md5"; head -c 40000 "$T/c/f"; sleep 2; tail -c +40001 "$T/c/f") |
    curl -s -H 'Expect:' -H 'Transfer-Encoding: chunked' -T - -X POST "$URL$UP" > "$T/o" &
slow=$!
sleep 1
kill "$UPLOAD_PID"; wait "$UPLOAD_PID"; [ $? = 0 ] && ok "SIGTERM: exit 0" || not_ok "SIGTERM: exit code"
wait $slow; expect "the upload in hand was finished" '<status>0<' "$T/o"

# With certificates: test vector of the format (a made-up key).
public_key > "$P/keys/upload_public"
sig='3c45b373f0388c76e00778e1012a77a97b68f361c14cb8b41ef6968c0260b5ea
8157f0f18067510890a398b96cc995d6851ebb24ef9141f368a4f1e1030c6dbc
e744c5c88035db414dc4894dcda8b887a0cc12e2ec0f41277515e90a3b5e2389
75b971659b22e352cb53a1ba77a88da78644a7f57670a8c753a242ce80995681
.'
sed -i 's|<ignore_upload_certificates>1|<ignore_upload_certificates>0|' "$P/config.xml"
start_uploads
(head_of ex_100_0_r4711_0 70000 0 "$md5" "$sig" 5000000; cat "$T/c/f") | post > "$T/o"; expect "a valid certificate" '<status>0<' "$T/o"
(head_of ex_100_0_r4711_1 70000 0 "$md5" "$sig" 5000000; cat "$T/c/f") | post > "$T/o"; expect "another name's certificate" '<status>-1<' "$T/o"
(head_of ex_100_0_r4711_0 70000 0 "$md5" "$sig" 6000000; cat "$T/c/f") | post > "$T/o"; expect "another limit's certificate" '<status>-1<' "$T/o"
(head_of ex_100_0_r4711_0 70000 0 "$md5" "" 5000000; cat "$T/c/f") | post > "$T/o"; expect "no certificate" '<status>-1<' "$T/o"
(head_of ex_100_0_r4711_0 6000000 0 "$md5" "$sig" 5000000; head -c 6000000 /dev/zero) | post > "$T/o"; expect "over the limit" 'exceeds limit' "$T/o"

exit $FAILED
