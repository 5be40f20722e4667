# SPDX-License-Identifier: Apache-2.0
# The sample alerts of a project, as Prometheus judges them on its metrics page, and what they tell an admin to run.

# Starts Prometheus with samples/monitoring/; windows and waits of minutes become seconds, thresholds of time too.
alerts_begin() {
	local port monitoring=$source/samples/monitoring
	alerts_site=http://127.0.0.1:$(project_option private_port)
	port=$(free_port) alerts_api=http://127.0.0.1:$port/api/v1
	sed -E 's/for: .*/for: 1s/; s/\[[0-9]+[mh]\]/[30s]/g; s/(expr: .*) > (600|900)$/\1 > 60/' \
		"$monitoring/locus.rules.yml" >"$work/rules.yml"
	sed -e "s|/usr/share/locus/monitoring/locus.rules.yml|$work/rules.yml|; s|stars.example.org:443|${alerts_site#http://}|; s|https|http|" \
		-e 's/_interval: 15s/_interval: 1s/' "$monitoring/prometheus.yml" >"$work/prometheus.yml"
	mkdir "$work/tsdb"
	prometheus --config.file="$work/prometheus.yml" --storage.tsdb.path="$work/tsdb" \
		--web.listen-address="127.0.0.1:$port" >"$work/prometheus.log" 2>&1 7>&- &
	alerts_pid=$!
	at_end alerts_end
	check "Prometheus scrapes the project" within 60 eval '[[ $(alerts_asked locus_build_info) == "success 1" ]]'
}
alerts_end() {
	kill "$alerts_pid" 2>/dev/null
	wait "$alerts_pid" 2>/dev/null
}

alerts_asked() { # QUERY: the answer's status and number of series
	curl -sG "$alerts_api/query" --data-urlencode "query=$1" |
		python3 -c 'import json, sys; r = json.load(sys.stdin); print(r["status"], len(r.get("data", {}).get("result", [])))'
}
alert_firing() { # ALERT [LABEL="VALUE"]
	[[ $(alerts_asked "ALERTS{alertname=\"$1\",alertstate=\"firing\",${2-}}") != "success 0" ]]
}

alert_told() { # ALERT [LABEL VALUE]: the commands in the description of one that is firing, a line each
	curl -s "$alerts_api/alerts" | python3 -c '
import json, re, sys
name, label, value = (sys.argv[1:] + ["alertname", sys.argv[1]])[:3]
for a in json.load(sys.stdin)["data"]["alerts"]:
    if a["state"] == "firing" and a["labels"]["alertname"] == name and a["labels"].get(label) == value:
        text = a["annotations"]["description"].split("Run: ", 1)[-1]
        print("\n".join(re.findall(r"((?:locus|systemctl) [a-z-].*?)(?=[;,]|\. |$)", text)))
        break' "$@"
}

# What the alert tells, which is kept by: a line each in $work/told.
alert_fires() { # ALERT [LABEL VALUE]
	check "$1 fires" within 120 alert_firing "$1" ${2:+"$2=\"$3\""}
	alert_told "$@" >"$work/told"
	check "$1 tells what to run" test -s "$work/told"
}
run_told() { # WORDS [SED-SCRIPT]: the command that has them, in the project's directory; its output in $work/said
	local command
	command=$(grep -F -- "$1" "$work/told" | head -n 1 | sed "${2-}")
	echo "told: ${command:=false}"
	(cd "$project" && bash -c "$command") >"$work/said" 2>&1 </dev/null
}
alert_says() { # WHAT WORDS PATTERN: what it says has this
	run_told "$2"
	check "$1" grep -- "$3" "$work/said"
}
alert_ends() { # ALERT [LABEL VALUE]
	check "$1 ends" within 120 not alert_firing "$1" ${2:+"$2=\"$3\""}
}

# Carries out the cure that the output of locus doctor has for a check.
doctor_mends() { # CHECK [SED-SCRIPT]
	local command
	command=$(grep -A 1 -E "^(warn|fail) +$1 " "$work/said" | sed -n 's/^ *mend: //p' | head -n 1 | sed "${2-}")
	echo "cure: ${command:=false}"
	bash -c "$command" || { cat "$work/said"; return 1; }
}
