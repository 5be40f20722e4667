# SPDX-License-Identifier: Apache-2.0
# An upgrade from an earlier release, which is built from this repository's history; once for each build directory.

# Sets $earlier to what that release installs; skips the scenario if it cannot be had.  LOCUS_EARLIER_N names an
# installation of the release with schema N instead.
earlier_release() { # SCHEMA COMMIT
	local given=LOCUS_EARLIER_$1 dir=$build/earlier-$1
	earlier=${!given:-$dir/inst}
	[[ ! -x $earlier/bin/locus ]] || return 0
	[[ -z ${!given:-} ]] || skip "$given names no installation: $earlier"
	git -C "$source" cat-file -e "$2^{commit}" 2>/dev/null ||
		skip "this tree has no history with the release of schema $1 (commit $2); LOCUS_EARLIER_$1 may name an installation"
	command -v autoreconf >/dev/null || skip "autoconf, which builds the release of schema $1, is not installed"
	rm -rf "$dir"
	mkdir -p "$dir/source" "$dir/build"
	need "the source of the release with schema $1" earlier_source "$2" "$dir/source"
	echo "building it in $dir"
	need "it is built" earlier_build "$dir"
}

earlier_source() { # COMMIT DIR
	git -C "$source" archive "$1" | tar -C "$2" -x
}

earlier_build() { # DIR
	(cd "$1/source" && autoreconf -fi && cd ../build && ../source/configure -q --prefix="$1/inst" &&
		make -s -j "$(nproc)" && make -s install) </dev/null
}

# Puts a release into $release: as a package does, in the place of the one that is there.
release_install() { # DIR-OF-INSTALLATION
	cp -a --remove-destination "$1/." "$release/"
}

release_remove() {
	rm -rf "$release"
}

# Makes a project of the earlier release, in $release, with hosts at work.
earlier_project() { # WORKUNITS-OF-EACH-OF-TWO-FILES
	release=$(mktemp -d "${TMPDIR:-/tmp}/locus-release.XXXXXX")
	chmod 755 "$release"
	at_end release_remove
	need "the earlier release" release_install "$earlier"
	PATH=$release/bin:$PATH
	small_project 2 "$1"
	new_hosts 3
}

reports_stored() { # RESULTS
	[[ $(sql 'SELECT COUNT(*) FROM result WHERE received_time > 0') -ge $1 ]]
}

# The version of the database's schema, and that of the programs.
schema_is() { # NUMBER
	db_is "the schema is $1" "$1" 'SELECT version FROM locus_schema'
}
release_schema() {
	locus --version | sed -n 's/.*schema \([0-9]*\)$/\1/p'
}

# Kills locus upgrade as it begins its N-th step: the database may be at that step or have completed it.
upgrade_killed() { # N
	local line n=0 pid said
	coproc upgrading { exec stdbuf -oL locus -p "$project" upgrade 2>&1; }
	pid=$upgrading_PID
	# The shell forgets "upgrading" as soon as it learns that the process has ended.
	exec {said}<&"${upgrading[0]}"
	while read -r line <&"$said"; do
		if [[ $line == schema* && $((++n)) == "$1" ]]; then
			kill -9 "$pid"
			echo "killed at: $line"
		fi
	done
	exec {said}<&-
	wait "$pid" 2>/dev/null
	[[ $n -ge $1 ]]
}

# At a given moment every host may just have reported, and have asked for more.
work_in_flight() {
	[[ $(sql "SELECT COUNT(*) FROM result WHERE server_state IN (2, 4)") -gt 0 ]]
}

# A host that met a scheduler without its database, between two releases, would wait for an hour.
hosts_ask_now() {
	local host
	for host in $(host_names); do
		echo "update $(project_option master_url)" >"$hosts/$host/orders"
	done
}
