# SPDX-License-Identifier: Apache-2.0
# Many connections at once, by test/it/crowd.c; each crowd has a name.

crowd_run() { # NAME OPTION...: to the project's scheduler_url
	local name=$1
	shift
	"$build/test/it/crowd" --url "$(project_option scheduler_url)" "$@" >"$work/crowd.$name" 7>&-
}

crowd_figures() { # NAME: the line of crowd.c; nothing before it has ended
	cat "$work/crowd.$1"
}

crowd_value() { # NAME FIGURE
	value "$2" "$(crowd_figures "$1")"
}

crowd_answered() { # NAME LEAST: no request is lost, and at least so many have a reply
	crowd_figures "$1"
	equal "$(crowd_value "$1" lost)" 0 && [[ $(crowd_value "$1" replies) -ge $2 ]]
}

# Prints a request without its end and with so many million blanks before it.
padded() { # FILE MB
	sed '/<\/scheduler_request>/d' "$1"
	head -c "$2"000000 /dev/zero | tr '\0' ' ' | fold -w 1000
	echo '</scheduler_request>'
}

# Sends a file as a request: its reply is $work/reply, the status and the number of bytes sent are $work/sent.
send_file() { # FILE [CURL-OPTION...]
	local file=$1
	shift
	curl -s "$@" -H 'Expect:' -o "$work/reply" -w '%{http_code} %{size_upload}' --data-binary "@$file" \
		"$(project_option scheduler_url)" >"$work/sent"
}

sent_at_most() { # STATUS BYTES
	local status sent
	read -r status sent <"$work/sent"
	echo "$status, $sent bytes"
	[[ $status == "$1" && $sent -le $2 ]]
}

# A request of one host that asks for no work, so that only the way to the scheduler and back costs time.
idle_request() { # KEY
	sample_request "$1" | sed 's/<\(work_req_seconds\|cpu_req_secs\|cpu_req_instances\)>[0-9.]*/<\1>0/'
}
