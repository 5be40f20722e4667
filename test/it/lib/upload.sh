# SPDX-License-Identifier: Apache-2.0
# Requests to the upload service at $upload_url.

# Prints a request up to its data; MD5 - leaves the checksum out.
upload_head() { # NAME NBYTES OFFSET MD5 [SIGNATURE [MAX-NBYTES]]
	printf '<data_server_request>\n    <core_client_major_version>7</core_client_major_version>\n'
	printf '    <core_client_minor_version>20</core_client_minor_version>\n    <core_client_release>5</core_client_release>\n'
	printf '<file_upload>\n<file_info>\n<name>%s</name>\n<xml_signature>\n%s</xml_signature>\n' "$1" "${5:-}"
	printf '<max_nbytes>%s</max_nbytes>\n</file_info>\n<nbytes>%s</nbytes>\n' "${6:-2000000000}" "$2"
	[[ $4 == - ]] || printf '<md5_cksum>%s</md5_cksum>\n' "$4"
	printf '<offset>%s</offset>\n<data>\n' "$3"
}

size_request() { # NAME
	printf '<data_server_request>\n<get_file_size>%s</get_file_size>\n</data_server_request>\n' "$1"
}

upload_post() { # [CURL-OPTION...]: a request from standard input; prints the reply
	curl -s -H 'Expect:' --data-binary @- "$@" "$upload_url"
}

upload_query() { # NAME: the reply to a question for the size of what is stored
	size_request "$1" | upload_post
}

upload_size() { # NAME: '' if the service tells none
	upload_query "$1" | element file_size -
}

# Starts an upload whose bytes go to descriptor 9 until "exec 9>&-"; its curl is $upload_client, the reply $work/slow.
upload_begin() {
	mkfifo "$work/feed"
	curl -s -H 'Expect:' -H 'Transfer-Encoding: chunked' -T - -X POST "$upload_url" <"$work/feed" >"$work/slow" &
	upload_client=$!
	exec 9>"$work/feed"
	rm "$work/feed"
}

upload_give_up() { # the client disappears in the middle
	kill "$upload_client"
	wait "$upload_client" 2>/dev/null
	exec 9>&-
}

# An upload by chunks whose length nobody announces.
upload_chunked() { # FILE: for the reply; the request comes from standard input
	curl -s -H 'Expect:' -H 'Transfer-Encoding: chunked' -T - -X POST "$upload_url" >"$1"
}

# A request from standard input is refused.
upload_refused() { # WHAT STATUS MESSAGE
	upload_post >"$work/o"
	check "$1: status $2" eval "has_line '<status>$2<' '$work/o' && grep -qi '<message>.*$3' '$work/o'"
}

stored() { # NAME: the path of the whole file in the upload directory
	find "$project/upload" -name "$1" -type f | head -n 1
}

stored_is() { # WHAT NAME FILE: a test case; what is stored is what was sent
	check "$1" cmp "$3" "$(stored "$2")"
}

# Starts a bare project with Apache and the upload service. $sample is a file of 70,000 bytes, $md5 its checksum.
upload_project() { # [CONFIG-LINES]
	bare_project "<ignore_upload_certificates>1</ignore_upload_certificates><upload_min_free_bytes>1000</upload_min_free_bytes>${1:-}"
	mkdir -p "$work/c"
	sample=$work/c/f
	head -c 70000 /dev/urandom >"$sample"
	md5=$(md5sum <"$sample" | cut -c1-32)
	apache_start
	uploads_start
}
