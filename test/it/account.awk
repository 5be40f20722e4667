# SPDX-License-Identifier: Apache-2.0
# Sums up what hosts did, from their own logs. Input: lines "size FILE BYTES" of the large files, then the events of
# each host in order:
#     HOST received RESULT | HOST downloaded FILE BYTES | HOST computed RESULT STATUS
#     HOST acked RESULT    | HOST deleted FILE
# Output: one line of figures. Errors go to the file "wrong", a line each: a result that two hosts received, and a large
# file that a host downloaded twice. The part of a result's name before "__" is its large file.

function file_of(result) {
	sub(/__.*/, "", result)
	return result
}

$1 == "size" { size[$2] = $3; next }

$2 == "received" {
	if (($1, $3) in seen) next # resent after the host or the reply was lost
	seen[$1, $3] = 1
	if ($3 in owner) print $3 " was sent to " owner[$3] " and to " $1 >wrong
	owner[$3] = $1
	file = file_of($3)
	if (($1, file) in given) {
		hits++
		saved += size[file]
	}
	given[$1, file] = 1
	sent++
}

$2 == "downloaded" && ($3 in size) {
	came[$1, $3] += $4
	if (came[$1, $3] > size[$3] && !(($1, $3) in twice)) {
		twice[$1, $3] = 1
		print $1 " was sent " $3 " twice" >wrong
	}
	bytes += $4
}

$2 == "computed" { $4 == 0 ? computed++ : errors++ }
$2 == "acked" && !(($1, $3) in done) { done[$1, $3] = 1; acked++ }
$2 == "deleted" && ($3 in size) { deleted++ }

END {
	printf "sent=%d hits=%d computed=%d errors=%d acked=%d", sent, hits, computed, errors, acked
	printf " bytes_sent=%.0f bytes_saved=%.0f deleted=%d\n", bytes, saved, deleted
}
