# SPDX-License-Identifier: Apache-2.0
# Web pages and web RPCs of a bare project through its Apache: the head of an answer is $work/h, its body $work/o.

web_limits='<web_failures_per_hour>1000</web_failures_per_hour><web_account_failures_per_hour>1000</web_account_failures_per_hour>'

# A bare project with Apache whose limits of failures do not matter.
web_project() { # [CONFIG-LINES]
	bare_project_with_db "$web_limits
<ignore_upload_certificates>1</ignore_upload_certificates>${1:-}"
	apache_start
}

get() { # PATH [CURL-OPTION...]
	local path=$1
	shift
	curl -s -D "$work/h" -o "$work/o" "$@" "$server_url$path"
}

http_is() { # WHAT STATUS: a test case about the last answer
	expect "$1: HTTP $2" "^HTTP/1.1 $2" "$work/h"
}

web_error() { # WHAT PAGE ERROR-NUMBER: a web RPC's answer
	get "/stars/$2"
	expect "$1" "<error_num>$3<" "$work/o"
	http_is "$1" 200
}

# An account joe@example.org: $key, $id, $hash of its password, and $joe, the parameters that made it.
web_account() {
	hash=$(printf 'secret12joe@example.org' | md5sum | cut -c1-32)
	joe="email_addr=Joe%40example%2Eorg&passwd_hash=$hash&user_name=Joe%20the%20First"
	get "/stars/create_account.php?$joe"
	key=$(element authenticator)
	id=$(sql "SELECT id FROM user WHERE authenticator = '$key'")
	need "an account" test -n "$id"
}
