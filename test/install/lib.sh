# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# Library of the steps, inside the machine. A step prints what it checks; the first failed check ends it, with a line
# that begins with FAIL.
set -u
export LC_ALL=C.UTF-8
install=/root/install
url=https://stars.example.org/stars/
data=/var/lib/locus/stars
clients='client1 client2'
jobs=20

fail() { # WHAT
	echo "FAIL: $*"
	exit 1
}
not_run() { # WHY
	echo "$*"
	exit 77
}
need() { # WHAT COMMAND...
	local what=$1
	shift
	echo "+ $*"
	"$@" || fail "$what (status $?)"
	echo "ok: $what"
}
is() { # WHAT VALUE EXPECTED
	[[ $2 == "$3" ]] || fail "$1: \"$2\", not \"$3\""
	echo "ok: $1: $2"
}
within() { # SECONDS COMMAND...
	local end=$((SECONDS + $1))
	shift
	until "$@"; do
		[[ $SECONDS -lt $end ]] || return 1
		sleep 1
	done
}
not() { ! "$@"; }

# Steps of commands that this version does not have yet are not run.
command_needed() { # "destroy"
	locus help "$1" >/dev/null 2>&1 || not_run "this version has no command locus $1"
}

# The text of a manual page, section by section: what comes after the heading SECTION.
page_section() { # PAGE SECTION
	awk -v section="$2" '
		/^\.S[hs] / { name = substr($0, 5); gsub(/"|\\&/, "", name); on = name == section; next }
		on { gsub(/\\-/, "-"); gsub(/\\&/, ""); gsub(/\\e/, "\\"); print }' "$install/pages/$1"
}

# The commands of a section that are for root ("#") or for the project's account ("$"): its lines that begin with that
# sign, and their continuations.
page_commands() { # PAGE SECTION SIGN
	page_section "$1" "$2" | awk -v sign="$3 " '
		{ sub(/^\.Dl /, "") }
		more || index($0, sign) == 1 { if (!more) $0 = substr($0, 3); more = /\\$/; print }'
}

# Does what a section of a manual page says, word for word; by default as root.
follow() { # PAGE SECTION [ACCOUNT DIR]
	local sign='#' commands
	[[ $# == 2 ]] || sign='$'
	commands=$(page_commands "$1" "$2" "$sign")
	[[ -n $commands ]] || fail "$1 has no commands in its section $2"
	printf 'following %s, %s:\n%s\n' "$1" "$2" "$commands"
	if [[ $# == 2 ]]; then
		(cd "$install/debs" && bash -e -o pipefail -c "$commands") || fail "$1, $2: a command failed"
	else
		runuser -u "$3" -- sh -c 'cd "$1" && exec bash -e -o pipefail -c "$2"' sh "$4" "$commands" || fail "$1, $2: a command failed"
	fi
	echo "ok: $1, $2"
}

# Writes the files that a section names before a display, each with the display as its content.
page_files() { # PAGE SECTION
	page_section "$1" "$2" | awk '
		/^\.Pa \/.* :$/ { file = $2; next }
		/^\.Bd/ && file != "" { printf "" >file; on = 1; next }
		/^\.Ed/ { if (on) close(file); on = 0; file = ""; next }
		on { print >file }'
}

# --- the project

sql() { # SQL
	mariadb -N locus_stars -e "$1"
}
done_jobs() {
	sql 'SELECT COUNT(*) FROM workunit WHERE canonical_resultid > 0 AND assimilate_state = 2'
}
# The unit is active, and every service runs, the daemons among them.
services_run() {
	local states
	states=$(locus -p stars -o json status | awk '$1 == "\"services\":" { on = 1 } on && $1 == "\"state\":" { print $2 } on && $1 ~ /^]/ { exit }')
	[[ $(wc -l <<<"$states") -ge 3 ]] && ! grep -qv '^"running",$' <<<"$states" && systemctl -q is-active locus-stars
}
# A process of the project's supervisor.
pid_of() { # SERVICE
	locus -p stars -o json status | awk -v of="\"$1\"," '
	$1 == "\"name\":" { name = $2 }
	name == of && $1 == "\"pid\":" { gsub(/,/, "", $2); print $2; exit }'
}
answers() { # the master page, as a client reads it
	curl -sS --max-time 20 "$url" | grep -q '<scheduler>https://stars.example.org/stars_cgi/cgi</scheduler>'
}

# --- stock clients: services of the machine, so that they are there again after a reboot

client_ctl() { # CLIENT COMMAND...
	local dir=/var/lib/$1
	shift
	(cd "$dir" && timeout 30 boinccmd --host "127.0.0.1:$(cat port)" --passwd "$(cat gui_rpc_auth.cfg)" "$@" 2>&1)
}
clients_update() {
	local client
	for client in $clients; do
		client_ctl "$client" --project "$url" update >/dev/null
	done
}
# Waits for COMMAND; the clients contact their project every ten seconds, whatever they wait for.
clients_within() { # SECONDS COMMAND...
	local end=$((SECONDS + $1)) next=$((SECONDS + 10))
	shift
	until "$@"; do
		[[ $SECONDS -lt $end ]] || return 1
		if [[ $SECONDS -ge $next ]]; then
			clients_update
			next=$((SECONDS + 10))
		fi
		sleep 1
	done
}
has_done() { # JOBS
	[[ $(done_jobs) -ge $1 ]]
}
no_complaints() {
	! grep -hE 'Computation for task .* error|COMPUTE_ERROR|UPLOAD_FAILED|Resetting project|signature verification failed|Invalid or missing account key|detached' \
		/var/lib/client*/stdoutdae.txt
}

# --- what locus doctor says, and its cures, carried out as they stand

report=$install/report cure_edit='' name=stars options=
doctor() {
	# shellcheck disable=SC2086
	locus -p $name doctor $options >"$report" 2>&1
}
cure() { # CHECK: of its first complaint
	awk -v check="$1" '/^ +mend: / { if (on) { sub(/^ +mend: /, ""); print; exit } }
		{ on = ($1 == "fail" || $1 == "warn") && $2 == check }' "$report" | sed "$cure_edit"
}
# The key is here for the next steps, and nothing sets the clock of a machine of this kind.
complaints() {
	awk '($1 == "fail" || $1 == "warn") && $2 != "code_key" && $2 != "clock" { print $2 }' "$report"
}
complains() { # CHECK
	doctor
	complaints | grep -qx "$1" && [[ -n $(cure "$1") ]] || { cat "$report"; return 1; }
}
alone() { # CHECK: one cause, one line
	doctor
	[[ $(complaints) == "$1" ]] || { cat "$report"; return 1; }
}
well() {
	doctor && [[ -z $(complaints) ]] || { grep -A 1 -e ^warn -e ^fail "$report"; return 1; }
}
mends() { # CHECK
	local command
	command=$(cure "$1")
	echo "cure: $command"
	[[ -n $command ]] && bash -c "$command" && within 60 well
}
shows() { # PATTERN CHECK: the cure is a look at what somebody must decide
	local command
	command=$(cure "$2")
	echo "cure: $command"
	[[ -n $command ]] && bash -c "$command" >"$install/shown" 2>&1
	grep -q -- "$1" "$install/shown" || { cat "$install/shown"; return 1; }
}

# --- traces

# All that the machine has by name: files outside the places where any program leaves what it likes, accounts,
# databases and their accounts, units, Apache's modules and sites. What a2enmod and its like make for their own notes
# (*_by_admin) stays; the notes in it count.
listing() {
	find / -xdev \( -path /proc -o -path /sys -o -path /dev -o -path /run -o -path /tmp -o -path /var/tmp -o -path /root \
		-o -path /var/cache -o -path /var/log/journal -o -path /var/lib/mysql -o -path '/var/lib/client?' -o -path /var/lib/dpkg \
		-o -path /var/lib/apt -o -path /var/lib/systemd -o -path /var/lib/logrotate -o -path /var/log/apache2 -o -path /var/log/apt \
		-o -path /etc/.pwd.lock -o -path '/etc/*-' -o -path /var/log/dpkg.log -o -path /var/log/wtmp -o -path /var/log/lastlog \
		-o -path /var/log/btmp -o -path /var/log/private -o -path /var/log/mysql -o -path /etc/ld.so.cache -o -path /etc/machine-id \
		-o -type d -path '/var/lib/apache2/*/*_by_admin' -empty -o -path /etc/resolv.conf -o -path /var/log/alternatives.log \) -prune -o -printf 'file %p %u:%g %m\n' | sort
	find /run -mindepth 1 -maxdepth 1 -name 'locus*' -printf 'file %p\n'
	getent passwd | sort | sed 's/^/account /'
	getent group | sort | sed 's/^/group /'
	mariadb -N -e "SELECT CONCAT('database ', schema_name) FROM information_schema.schemata ORDER BY 1;
		SELECT CONCAT('database account ', user, '@', host) FROM mysql.global_priv ORDER BY 1"
	systemctl list-units --all --no-legend --plain 'locus*' | sed 's/ .*//; s/^/unit /'
}
