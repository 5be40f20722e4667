# SPDX-License-Identifier: Apache-2.0
# An upgrade to the next release, which is made up: this tree with another version of the schema, which has a table, a
# column and an index more.

# Sets $next to what that release installs.
next_release() {
	local dir=$work/next
	next=$dir/inst
	mkdir -p "$dir/source" "$dir/build"
	need "the source of the next release" next_source "$dir/source"
	echo "building it in $dir"
	need "it is built" next_build "$dir"
}

next_source() { # DIR
	tar -C "$source" --exclude=./build-check --exclude=./build-demo --exclude=./.git -c . | tar -C "$1" --no-same-owner -x
	sed -i "s/SCHEMA_VERSION = $(schema_version)/SCHEMA_VERSION = $(($(schema_version) + 1))/" "$1/db/schema.h"
	sed -i -e '/^CREATE TABLE IF NOT EXISTS platform/,/^)/ {
		s/^\tdeprecated .*/&\n\tnext_column BIGINT NOT NULL DEFAULT 7, -- ours: made up/
		s/^\tPRIMARY KEY (id),/&\n\tKEY platform_next (next_column), -- ours/
	}' "$1/db/schema.sql"
	cat >>"$1/db/schema.sql" <<-'END'

		CREATE TABLE IF NOT EXISTS next_table (
			id BIGINT NOT NULL AUTO_INCREMENT,
			PRIMARY KEY (id)
		) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;
	END
	grep -q next_column "$1/db/schema.sql" && grep -q platform_next "$1/db/schema.sql"
}

next_build() { # DIR
	(cd "$1/source" && { [[ -e configure ]] || autoreconf -fi; } && cd ../build &&
		../source/configure -q --prefix="$1/inst" && make -s -j "$(nproc)" && make -s install) </dev/null
}

# Puts a release into $release: as a package does, in the place of the one that is there.
release_install() { # DIR-OF-INSTALLATION
	cp -a --remove-destination "$1/." "$release/"
}

release_remove() {
	rm -rf "$release"
}

# Makes a project of this release, installed in $release, with hosts at work.
released_project() { # WORKUNITS-OF-EACH-OF-TWO-FILES
	release=$(mktemp -d "${TMPDIR:-/tmp}/locus-release.XXXXXX")
	chmod 755 "$release"
	at_end release_remove
	need "this release" release_install "$build/inst"
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
