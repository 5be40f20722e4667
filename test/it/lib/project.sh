# SPDX-License-Identifier: Apache-2.0
# A whole project, made by "locus create", with its supervisor, database and web server. For the scenarios and for
# ./demo, which sets $source (top of the tree), $build (a build directory whose inst/ has what it installs), $project
# (the project's directory), $hosts (the directory of its hosts) and $data (of its large files).

PATH=$build/inst/bin:$PATH
samples=$build/samples/pulsar
# The database server's name among the processes; LOCUS_TEST_MYSQLD: mariadb.sh.
db_server=mariadbd
[[ -z ${LOCUS_TEST_MYSQLD:-} ]] || db_server=mysqld
here=$source/test/it
# Trial frequencies of the whole search.
trials=2000

# Makes a project with locality scheduling. Its hosts get through more jobs than those of volunteers, so the brake on
# failing hosts is off (13-create-project tests it). Its schedulers keep every request and reply in $keep_rpcs unless that is
# empty.
project_make() { # DIR OPTION...
	local dir=$1 unlimited=--set=new_host_daily_quota=0
	shift
	# An earlier release does not know the option.
	locus config explain new_host_daily_quota >/dev/null 2>&1 || unlimited=
	locus create stars --here "$dir" --set locality_scheduling=1 \
		${LOCUS_TEST_MYSQLD:+--set "private_db_server=$LOCUS_TEST_MYSQLD"} \
		--set one_result_per_user_per_wu=1 \
		--set daily_result_quota=100000 $unlimited \
		${keep_rpcs:+--set "debug_req_reply_dir=$keep_rpcs"} \
		${keep_rpcs:+--set debug_req_reply_max_bytes=2000000000} "$@"
}

# Adds the app of samples/pulsar, for workunits of SPAN trial frequencies each. The built-in generator makes them
# unless OPTIONs say otherwise.
project_app() { # SPAN [OPTION...]
	local span=$1 templates=$build/templates.$$
	shift
	[[ $# -gt 0 ]] || set -- --generator="--ranges $trials"
	mkdir -p "$templates" &&
		sed "s:<rsc_fpops_est>.*<:<rsc_fpops_est>$((2500000 * span))<:" \
			"$source/samples/pulsar/in.xml" >"$templates/in.xml" &&
		locus -p "$project" app add pulsar_search --name "Pulsar search" \
			--input-template "$templates/in.xml" \
			--output-template "$source/samples/pulsar/out.xml" \
			"$@" --validator --assimilator="--copy-to results" &&
		locus -p "$project" version add pulsar_search 1.00 "$(platform)" \
			"$samples/pulsar_search"
	local ok=$?
	rm -rf "$templates"
	return $ok
}

project_start() { # the supervisor carries the mark too
	LOCUS_RUN=$project locus -p "$project" start 7>&-
}

supervisor_pid() {
	[[ -e $project/run/state.json ]] &&
		sed -n '/"supervisor"/,/}/s/.*"pid": *\([0-9]*\).*/\1/p' "$project/run/state.json"
}

project_socket() { # of its database
	local socket
	socket=$(project_option db_socket)
	[[ $socket == /* ]] || socket=$project/$socket
	echo "$socket"
}

# Runs a command as the account that the project belongs to.
as_owner() { # COMMAND...
	local owner
	owner=$(stat -c %U "$project/config.xml")
	if [[ $(id -un) == "$owner" ]]; then
		"$@"
	else # its files may be below directories that only root may enter
		setpriv --reuid="$owner" --regid="$(id -g "$owner")" --init-groups \
			--inh-caps=+dac_override --ambient-caps=+dac_override -- "$@"
	fi
}

# What "locus status" tells to programs, on one line: made= valid= assimilated= sent= hits= bytes_needed= bytes_saved=.
# Fails if the database does not answer.
figures() {
	locus -p "$project" -o json status | awk '
	$2 == "{" { part = $1 }
	$2 ~ /^[0-9]+,?$/ { has[part $1] = has[$1] = $2 + 0 }
	END {
		if (!(("\"results\":" "\"sent\":") in has)) exit 1
		printf "made=%d valid=%d assimilated=%d sent=%d hits=%d bytes_needed=%.0f bytes_saved=%.0f\n",
		    has["\"workunits\":\"total\":"], has["\"workunits\":\"with_canonical\":"],
		    has["\"workunits\":\"assimilated\":"], has["\"results\":\"sent\":"],
		    has["\"hits\":"], has["\"bytes_needed\":"], has["\"bytes_saved\":"]
	}'
}

# --- for scenarios: each step is a test case

# Starts a project with FILES files of 400 kB, each cut into PARTS workunits.
small_project() { # FILES PARTS [OPTION...]
	local files=$1 parts=$2
	shift 2
	project_up "$@"
	need "data" "$samples/pulsar_data" --seed "$seed" --files "$files" --samples 100000 --dir "$data"
	need "an app" project_app $((trials / parts))
	need "files" locus -p "$project" file add --app pulsar_search --ranges "$parts" "$data"/*
}

# Makes and starts a project without apps; its address is $url.
project_up() { # [OPTION...]
	need "a project" project_make "$project" "$@"
	url=$(project_option master_url)
	started=1
	need "start" project_start
}

# Starts a project whose workunits the script of samples/generator makes: three of each of two files.
script_project() { # [OPTION...]
	need "a project" project_make "$project" "$@"
	need "the generator" install -m 755 "$source/samples/generator/range_generator" "$project/bin/"
	url=$(project_option master_url)
	need "data" "$samples/pulsar_data" --seed "$seed" --files 2 --samples 100000 --dir "$data"
	started=1
	need "start" project_start
	need "an app" project_app $((trials / 3)) --daemon "range_generator pulsar_search $trials 3"
	need "files" locus -p "$project" file add --app pulsar_search "$data"/*
}

# An app whose results have no output files; the built-in generator makes its workunits.
app_without_output() { # NAME
	template_without_output >"$work/out.xml"
	need "an app" locus -p "$project" app add "$1" --input-template "$source/samples/pulsar/in.xml" \
		--output-template "$work/out.xml" --generator="--ranges 100000" --validator --assimilator="--command true"
	need "its version" locus -p "$project" version add "$1" 1.00 x86_64-pc-linux-gnu "$samples/pulsar_search"
}

template_without_output() {
	printf '<output_template>\n<result>\n</result>\n</output_template>\n'
}

# All workunits are assimilated and every result that was sent is acknowledged.
project_done() { # WORKUNITS
	local db did
	db=$(figures) || return 1
	[[ $(value assimilated "$db") == "$1" ]] || return 1
	did=$(account /dev/null)
	[[ $(value acked "$did") == "$(value sent "$db")" ]]
}

no_trigger() {
	equal "$(ls -A "$project/locality_scheduling/need_work" 2>/dev/null
		locus -p "$project" trigger list need_work; locus -p "$project" trigger list claims)" ''
}

# What holds at the end of a scenario while the project still runs. Hosts may ask for more all the time, and the
# generator takes a moment to answer that there is no more.
check_sound() {
	check "fsck" locus -p "$project" fsck
	check "no trigger is left" within 120 no_trigger
}

# The supervisor dies at once; what it started lives on.
kill_supervisor() {
	kill_hard "$(supervisor_pid)"
}

# What "locus status" tells to programs: the value of a name, the first of several.
status_json() { # NAME
	locus -p "$project" -o json status | json_value "$1"
}

json_value() { # NAME: from standard input
	sed -n "s/^ *\"$1\": *\(.*[^,]\),*\$/\1/p" | head -n 1
}
