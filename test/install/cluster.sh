# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# locus-cluster(7) on the machines web1, web2 and lb, a load balancer: its commands word for word, each on the machine that the page names by
# a comment ".\" on web1" before it, and the files that it names.

cluster_page=$source/tools/locus-cluster.7
cluster_addresses='10.99.7.1 10.99.7.2 10.99.7.3'

cluster_machine() { # NAME SUITE ADDRESS
	machine_use "$1"
	machine_make "$2" || return
	machine_address=$3
	echo "$1" >"$machine/etc/hostname"
	printf '127.0.0.1 localhost\n10.99.7.1 web1 boinc.example.org\n10.99.7.2 web2\n10.99.7.3 lb\n' >"$machine/etc/hosts"
	machine_boot
}

# root of each machine may log in on the other, as rsync needs it.
cluster_keys() {
	local at
	for at in web1 web2; do
		machine_use $at
		machine_run systemctl start ssh || return
		mkdir -p -m 700 "$machine/root/.ssh"
		ssh-keygen -q -t ed25519 -N '' -f "$cache/$at/root/.ssh/id_ed25519" </dev/null || return
	done
	for at in web1 web2; do
		cat "$cache"/web[12]/root/.ssh/id_ed25519.pub >"$cache/$at/root/.ssh/authorized_keys"
		machine_use $at
		machine_run sh -c 'ssh-keyscan web1 web2 2>/dev/null >/root/.ssh/known_hosts && test -s /root/.ssh/known_hosts' || return
	done
}

# What the page says: lines "MACHINE SECTION<tab>COMMAND", in its order.
cluster_commands() {
	awk '
	/^\.S[hs] / { section = substr($0, 5) }
	/^\.\\" on / { at = $3 }
	{ gsub(/\\-/, "-"); gsub(/\\&/, ""); gsub(/\\e/, "\\") }
	/^\.Dl # / { sub(/^\.Dl # /, ""); print at "\t" section "\t" $0 }
	/^\.Pa \/.* :$/ { file = $2; next }
	/^\.Bd/ && file != "" { printf "%s\t%s\tcat >%s <<\047END\047\\n", at, section, file; on = 1; next }
	/^\.Ed/ { if (on) print "END"; on = 0; file = ""; next }
	on { printf "%s\\n", $0 }' "$cluster_page"
}

cluster_follow() { # SECTION...: stops at the first command that fails
	local at section command real
	while IFS=$'\t' read -r at section command <&6; do
		[[ " $* " == *" ${section// /_} "* ]] || continue
		machine_use "$at"
		real=$(printf '%b' "$command")
		echo "$at# $real"
		machine_run bash -e -c "cd /root/install/debs && $real" || {
			echo "locus-cluster(7), $section, on $at: $real: failed"
			return 1
		}
	done 6< <(cluster_commands)
}

cluster_sql() { # SQL
	machine_use web1
	machine_run mariadb -N locus_stars -e "$1"
}
cluster_within() { # SECONDS VALUE SQL
	local end=$((SECONDS + $1))
	until [[ $(cluster_sql "$3") == "$2" ]]; do
		[[ $SECONDS -lt $end ]] || {
			echo "\"$(cluster_sql "$3")\", not \"$2\": $3"
			return 1
		}
		sleep 1
	done
}
leases="SELECT GROUP_CONCAT(DISTINCT node) FROM daemon_lease WHERE token <> 0"

cluster_first() {
	machine_use web1
	machine_run sh -c 'cd /root/install/debs && apt-get install -y ./locus-server_*.deb &&
		locus create stars --url http://boinc.example.org/stars/ --code-sign-here && locus -p stars start'
}
cluster_both_work() {
	local at
	for at in web1 web2; do
		machine_use $at
		machine_run sh -c 'curl -sS --max-time 20 -H "Host: boinc.example.org" http://127.0.0.1/stars/ | grep -q "<scheduler>"' || {
			echo "$at does not serve the master page"
			return 1
		}
		machine_run sh -c 'curl -sS --max-time 20 -H "Host: boinc.example.org" -d "<scheduler_request></scheduler_request>" \
			http://127.0.0.1/stars_cgi/cgi | grep -q "<scheduler_reply>"' || {
			echo "$at does not answer requests"
			return 1
		}
		machine_run locus -p stars fsck || return
	done
	# A scheduler notes itself with its first request.
	cluster_within 60 web1 "$leases" &&
		cluster_within 60 2 "SELECT COUNT(DISTINCT node) FROM node_service WHERE name = 'scheduler'"
}
cluster_fails_over() {
	machine_use web1
	machine_run sh -c 'kill -KILL "$(cat /run/locus/stars/transitioner.pid)"' && machine_run locus -p stars stop &&
		cluster_within 120 web2 "$leases" && machine_use web1 && machine_run locus -p stars start
}

# The sample, with the addresses of these machines and without the database's part, which is for a cluster.
cluster_balancer() {
	machine_use lb
	machine_run systemctl -q disable --now apache2 || return
	sed -e 's/192\.0\.2\.11/10.99.7.1/; s/192\.0\.2\.12/10.99.7.2/; /^# The database:/,$d' "$source/samples/haproxy/haproxy.cfg" \
		>"$machine/etc/haproxy/haproxy.cfg"
}
cluster_balanced() {
	local i
	machine_use lb
	for ((i = 0; i < 60; i++)); do
		machine_run sh -c 'curl -sS --max-time 20 -H "Host: boinc.example.org" http://127.0.0.1/stars/ | grep -q "<scheduler>"' && return
		sleep 1
	done
	echo "the master page does not come through the load balancer"
	return 1
}

cluster_run() { # SUITE
	local suite=$1
	# shellcheck disable=SC2086
	outside "$suite" "network" machine_network_make $cluster_addresses &&
		outside "$suite" "web1 boots" cluster_machine web1 "$suite" 10.99.7.1 &&
		outside "$suite" "web2 boots" cluster_machine web2 "$suite" 10.99.7.2 &&
		outside "$suite" "lb boots" cluster_machine lb "$suite" 10.99.7.3 &&
		outside "$suite" "keys" cluster_keys &&
		outside "$suite" "project on web1" cluster_first &&
		outside "$suite" "adding a machine" cluster_follow ADDING_A_MACHINE &&
		outside "$suite" "both machines work" cluster_both_work &&
		outside "$suite" "draining a machine" cluster_follow DRAINING_A_MACHINE &&
		outside "$suite" "a machine stops" cluster_fails_over &&
		outside "$suite" "download mirrors" cluster_follow DOWNLOAD_MIRRORS &&
		outside "$suite" "load balancer" cluster_balancer &&
		outside "$suite" "load balancing" cluster_follow LOAD_BALANCING &&
		outside "$suite" "requests through it" cluster_balanced
}
