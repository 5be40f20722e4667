# SPDX-License-Identifier: Apache-2.0
# The beginning of ./demo and ./check: missing packages, and a build. The caller sets $source to the top of the tree
# and $me to its own name.

say() { printf '%s: %s\n' "$me" "$*"; }
die() { # STATUS TEXT
	printf '%s: %s\n' "$me" "$2" >&2
	exit "$1"
}

# Servers and projects that root starts run as other accounts. Is this true of files for them? Where root can become no
# other account, there is none that could be kept out.
others_may() { # ARGUMENT-OF-test...
	local as=(setpriv --reuid=nobody --regid=nogroup --clear-groups --)
	[[ $(id -u) == 0 ]] && "${as[@]}" true 2>/dev/null || return 0
	"${as[@]}" test "$@"
}

# Root's home is closed to other accounts, as is a tree that was cloned with a narrow umask: a copy does the work then.
go_where_others_may() { # ARGUMENT...
	local there mark=.copy-of-a-closed-tree
	! others_may -x "$source" -a -r "$source/$me" || return 0
	[[ ! -e $source/$mark ]] || die 1 "other accounts may not enter $source, either"
	there=/usr/local/src/locus-$(sha256sum <<<"$source" | cut -c 1-8)
	[[ ! -e $there && ! -L $there || ! -L $there && -O $there && -e $there/$mark ]] ||
		die 1 "$there is in the way: it is no copy that this program has made"
	say "other accounts may not enter $source, so all goes on in a copy, $there, which may be removed afterwards"
	(
		set -e
		umask 022
		mkdir -p "$there"
		touch "$there/$mark"
		find "$there" -mindepth 1 -maxdepth 1 ! -name $mark ! -name build-check ! -name build-demo ! -name demo-project -exec rm -rf {} +
		tar -C "$source" --exclude=./build-check --exclude=./build-demo --exclude=./demo-project -c . | tar -C "$there" --no-same-owner -x
		chmod -R go+rX "$there"
	) || die 1 "cannot copy the tree to $there"
	exec "$there/$me" "$@"
}

# Root of a container may lack the right to mount, and then it boots no machine and builds no image.
may_mount() { unshare -m mount -t tmpfs none /mnt 2>/dev/null; }

# MariaDB's server cannot be installed beside MySQL's; with LOCUS_TEST_MYSQLD (test/it/lib/mariadb.sh) it is not needed.
packages_missing() { # GROUP...
	local group package state
	command -v dpkg-query >/dev/null || return 0
	while read -r group package; do
		[[ " $* " == *" $group "* ]] || continue
		[[ $package != mariadb-server || -z ${LOCUS_TEST_MYSQLD:-} ]] || continue
		state=$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null)
		[[ $state == installed ]] || echo "$package"
	done <"$source/test/packages" | sort -u
}

# Locus starts servers of its own, so the services of the packages need not start. Keeps a policy that exists.
packages_install() { # PACKAGE...
	local as_root='set -e
		policy=/usr/sbin/policy-rc.d
		if [ ! -e $policy ]; then
			trap "rm -f $policy" EXIT
			trap "exit 1" HUP INT TERM
			printf "#!/bin/sh\nexit 101\n" >$policy
			chmod 755 $policy
		fi
		export DEBIAN_FRONTEND=noninteractive
		install="apt-get install -y -q --no-install-recommends"
		$install "$@" || { apt-get update -q && $install "$@"; }'
	if [[ $(id -u) == 0 ]]; then
		sh -c "$as_root" sh "$@"
	else
		sudo sh -c "$as_root" sh "$@"
	fi
}

packages_need() { # GROUP...
	local missing
	missing=$(packages_missing "$@" | tr '\n' ' ')
	[[ -n $missing ]] || return 0
	if [[ $(id -u) != 0 ]] && ! sudo -n true 2>/dev/null &&
	    ! { [[ -t 0 ]] && sudo -v 2>/dev/null; }; then
		say "packages are missing, and this account may not install them. As root:"
		echo "apt-get install --no-install-recommends ${missing% }"
		exit 77
	fi
	say "installing ${missing% }"
	# shellcheck disable=SC2086
	packages_install $missing >"$log" 2>&1 || {
		tail -n 20 "$log" >&2
		die 1 "cannot install the packages; see $log"
	}
}

# On a terminal, shows how far a build is; build writes the number of files to compile to DIR/.files.
build_watch() { # DIR
	local files compiled
	while sleep 0.5; do
		if read -r files 2>/dev/null <"$1/.files"; then
			compiled=$(grep -c '^  CC ' "$log")
			printf '\r%s: compiled %d of %d files\033[K' "$me" "$compiled" "$files"
		else
			printf '\r%s: configuring\033[K' "$me"
		fi
	done
}

# Configures and builds in DIR, out of tree, and installs into DIR/inst. Concurrent builds take turns.
build() { # DIR CONFIGURE-OPTION...
	local dir=$1 watch=
	shift
	[[ ! -e $source/config.status ]] ||
		die 1 "$source is configured for building in place; run \"make distclean\" there first"
	mkdir -p "$dir" || exit 1
	exec 9<"$source"
	flock 9
	rm -f "$dir/.files"
	if [[ -t 1 ]]; then
		build_watch "$dir" 9<&- &
		watch=$!
	fi
	(
		set -e
		cd "$source"
		# Again whenever the build system has changed.
		if [[ ! -e configure || -n $(find configure.ac Makefile.am sources.mk test/*.mk -newer configure) ]]; then
			autoreconf -fi
		fi
		cd "$dir"
		if [[ ! -e Makefile || Makefile -ot "$source/configure" ]]; then
			"$source/configure" -q --prefix="$dir/inst" "$@"
		fi
		[[ -z $watch ]] || make -n | grep -c '^echo "  CC ' >"$dir/.files" || true
		make -s -j "$(nproc)"
		make -s install
	) >"$log" 2>&1 9<&-
	local failed=$?
	if [[ -n $watch ]]; then
		kill "$watch"
		wait "$watch" 2>/dev/null
		printf '\r\033[K'
		rm -f "$dir/.files"
	fi
	[[ $failed == 0 ]] || {
		tail -n 30 "$log" >&2
		die 1 "the build failed; see $log"
	}
	exec 9<&-
}
