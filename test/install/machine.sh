# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# Machines of test/install/run: a base system of each suite, which stays in $cache; a chroot of it that builds the
# packages; and the machine, a copy that systemd-nspawn boots without a network of the outside.
#
#   $cache/base-SUITE    what a machine has before Locus: systemd, Apache, MariaDB, stock client, libraries
#   $cache/build-SUITE   the same with what the build needs
#   $cache/debs-SUITE    the packages, and what else the build left
#   $cache/logs-SUITE    output of each step
#   $cache/machine       the machine; removed at the end. A cluster has two, web1 and web2, with a network of their own

machine=$cache/machine machine_pid='' machine_leader='' machine_logs=$cache
# Those of other machines that run: names, and for each its process and systemd.
declare -A machine_pids=() machine_leaders=()
# Address in a network of machines; empty = the machine has no network.
machine_address='' machine_network=locus$$
# Whatever is mounted in a root directory by these functions.
mounted=()

# Packages of a machine beside a minimal Debian: what locus-server depends on and recommends, so that it can be
# installed without a network, and what the steps use.
machine_packages_of_base='systemd systemd-sysv dbus libpam-systemd passwd apache2 mariadb-server boinc-client curl procps
	iproute2 logrotate openssl ca-certificates zstd mandoc python3-minimal openssh-server rsync haproxy sudo faketime'

in_root() { # DIR COMMAND...
	local root=$1 rc
	shift
	mount -t proc proc "$root/proc" || return
	mounted+=("$root/proc")
	chroot "$root" "$@"
	rc=$?
	umount "$root/proc"
	mounted=("${mounted[@]/$root\/proc/}")
	return $rc
}

no_services() { # DIR COMMAND...: packages that are installed there start nothing
	local root=$1 rc
	printf '#!/bin/sh\nexit 101\n' >"$root/usr/sbin/policy-rc.d"
	chmod 755 "$root/usr/sbin/policy-rc.d"
	in_root "$@"
	rc=$?
	rm -f "$root/usr/sbin/policy-rc.d"
	return $rc
}

install_in() { # DIR PACKAGE...
	local root=$1
	shift
	cp /etc/resolv.conf "$root/etc/resolv.conf"
	no_services "$root" sh -c 'apt-get update -q && apt-get install -y -q --no-install-recommends "$@"' sh "$@"
}

sources_list() { # SUITE
	echo "deb $mirror $1 main"
	[[ $1 == sid ]] || printf '%s\n' "deb $mirror $1-updates main" "deb ${mirror%/debian}/debian-security $1-security main"
}

# Packages of which a machine has the files only, for the steps to install.
machine_packages_kept=msmtp

# A base system is whole once it has its mark, with the packages that it has.
machine_base() { # SUITE
	local base=$cache/base-$1
	[[ ! -e $base.whole || $(<"$base.whole") != "$machine_packages_of_base $machine_packages_kept" ]] || return 0
	rm -f "$cache/build-$1.whole"
	rm -rf --one-file-system "$base" &&
		debootstrap --variant=minbase "$1" "$base" "$mirror" &&
		sources_list "$1" >"$base/etc/apt/sources.list" &&
		cp /etc/apt/apt.conf.d/99* "$base/etc/apt/apt.conf.d/" 2>/dev/null
	# shellcheck disable=SC2086
	install_in "$base" $machine_packages_of_base &&
		no_services "$base" apt-get install -y -q --download-only $machine_packages_kept &&
		in_root "$base" systemctl -q mask getty.target console-getty.service boinc-client.service apt-daily.timer \
			apt-daily-upgrade.timer man-db.timer e2scrub_all.timer fstrim.timer &&
		: >"$base/etc/machine-id" && echo "$machine_packages_of_base $machine_packages_kept" >"$base.whole"
}

# The committed and changed files of the tree are built, as a developer has them.
machine_packages() { # SUITE
	local suite=$1 build=$cache/build-$1 debs=$cache/debs-$1
	if [[ ! -e $build.whole ]]; then
		rm -rf --one-file-system "$build" && cp -a --reflink=auto "$cache/base-$suite" "$build" &&
			install_in "$build" build-essential fakeroot lintian && touch "$build.whole" || return
	fi
	rm -rf "$debs" "$build/build" && mkdir -p "$debs" "$build/build/locus" || return
	(cd "$source" && git ls-files -z --cached --others --exclude-standard |
		while IFS= read -r -d '' file; do [[ ! -e $file ]] || printf '%s\0' "$file"; done |
		tar -c --null -T - -f -) | tar -x -C "$build/build/locus" || return
	no_services "$build" apt-get build-dep -y -q --no-install-recommends /build/locus &&
		in_root "$build" sh -c "cd /build/locus && DEB_BUILD_OPTIONS='nocheck parallel=$(nproc)' dpkg-buildpackage -F -us -uc" &&
		find "$build/build" -maxdepth 1 -type f -exec mv {} "$debs" \; && rm -rf "$build/build" &&
		# What the packages need and the base system lacks.
		install_missing "$suite"
}

# Fails on each error and warning that no file debian/*.lintian-overrides explains.
machine_lintian() { # SUITE
	local build=$cache/build-$1 rc
	mkdir -p "$build/lintian" && cp "$cache/debs-$1"/* "$build/lintian" || return
	in_root "$build" sh -c 'cd /lintian && exec runuser -u nobody -- lintian --fail-on error,warning *.changes'
	rc=$?
	rm -rf "$build/lintian"
	return $rc
}

# A machine has no network, so the base system gets all that the packages depend on.
install_missing() { # SUITE
	local base=$cache/base-$1 needs
	needs=$(for deb in "$cache/debs-$1"/locus-server_*.deb "$cache/debs-$1"/locus-client_*.deb; do
		dpkg-deb -f "$deb" Depends | tr ',' '\n' | sed 's/([^)]*)//; s/|.*//; s/ //g'
	done | sort -u)
	# shellcheck disable=SC2086
	install_in "$base" $needs
}

# The functions below are about this machine from now on.
machine_use() { # NAME
	[[ -z $machine_pid ]] || machine_pids[${machine##*/}]=$machine_pid machine_leaders[${machine##*/}]=$machine_leader
	machine=$cache/$1 machine_pid=${machine_pids[$1]:-} machine_leader=${machine_leaders[$1]:-}
	unset "machine_pids[$1]" "machine_leaders[$1]"
}

# A network namespace for each address, with a bridge between them.
machine_network_make() { # ADDRESS...
	local address i=0
	ip netns add "$machine_network" && ip -n "$machine_network" link add bridge type bridge &&
		ip -n "$machine_network" link set bridge up || return
	for address; do
		i=$((i + 1))
		ip netns add "$machine_network-$address" &&
			ip -n "$machine_network-$address" link set lo up &&
			ip -n "$machine_network" link add "port$i" type veth peer name host0 netns "$machine_network-$address" &&
			ip -n "$machine_network" link set "port$i" master bridge up &&
			ip -n "$machine_network-$address" addr add "$address/24" dev host0 &&
			ip -n "$machine_network-$address" link set host0 up || return
	done
}

machine_network_end() {
	local name
	for name in $(ip netns list | grep -o "^$machine_network[^ ]*"); do
		ip netns del "$name"
	done
}

machine_make() { # SUITE
	machine_logs=$cache/logs-$1
	mkdir -p "$machine_logs" && rm -rf --one-file-system "$machine" &&
		cp -a --reflink=auto "$cache/base-$1" "$machine" &&
		mkdir -p "$machine/root/install" && cp -a "$source/test/install/steps" "$source/test/install/lib.sh" "$source"/test/it/{commands,commands.table,request.xml} \
			"$machine/root/install/" &&
		mkdir -p "$machine/root/install/pages" && cp "$source"/tools/*.7 "$source"/tools/*/*.7 "$machine/root/install/pages/" &&
		mkdir "$machine/root/install/debs" && cp -a "$cache/debs-$1"/*.deb "$machine/root/install/debs" &&
		rm -f "$machine"/root/install/debs/*-dbgsym_* && cp -a "$source/debian/tests" "$machine/root/install/tests" &&
		echo "locus-$1" >"$machine/etc/hostname" &&
		printf '127.0.0.1 localhost stars.example.org boinc.example.org look.example.org vault\n127.0.1.1 locus-%s\n' "$1" >"$machine/etc/hosts"
}

machine_boot() {
	local i state
	local network=--private-network
	[[ -z $machine_address ]] || network=--network-namespace-path=/run/netns/$machine_network-$machine_address
	systemd-nspawn -q -D "$machine" --register=no --keep-unit "$network" --boot --console=pipe \
		</dev/null >>"$machine_logs/console" 2>&1 8<&- &
	machine_pid=$!
	for ((i = 0; i < 300; i++)); do
		machine_leader=$(cat "/proc/$machine_pid/task/$machine_pid/children" 2>/dev/null)
		machine_leader=${machine_leader%% *}
		[[ -z $machine_leader ]] || state=$(machine_run systemctl is-system-running 2>/dev/null)
		case ${state:-} in
		running) return 0 ;;
		degraded)
			machine_run systemctl --failed --no-legend
			return 1
			;;
		esac
		kill -0 "$machine_pid" 2>/dev/null || break
		sleep 1
	done
	tail -n 20 "$machine_logs/console"
	echo "the machine does not boot: ${state:-no systemd}"
	return 1
}

machine_run() { # COMMAND...
	nsenter -t "$machine_leader" -a env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root \
		LC_ALL=C.UTF-8 "$@" </dev/null 8<&-
}

machine_down() {
	local i
	[[ -n $machine_pid ]] || return 0
	machine_run systemctl poweroff
	for ((i = 0; i < 90; i++)); do
		kill -0 "$machine_pid" 2>/dev/null || break
		sleep 1
	done
	[[ $i -lt 90 ]] || kill -9 "$machine_leader" "$machine_pid"
	wait "$machine_pid" 2>/dev/null
	machine_pid='' machine_leader=''
	[[ $i -lt 90 ]]
}

# Keeps what explains a failure.
machine_failed() {
	[[ -z $machine_leader ]] || machine_run journalctl -b --no-pager >"$machine_logs/journal" 2>/dev/null
	say "logs in $machine_logs"
}

machine_end() {
	local m
	machine_down >/dev/null 2>&1
	for m in "${!machine_pids[@]}"; do
		machine_use "$m"
		machine_down >/dev/null 2>&1
		rm -rf --one-file-system "$machine"
	done
	machine_network_end
	for m in ${mounted[@]+"${mounted[@]}"}; do
		[[ -z $m ]] || umount "$m"
	done
	mounted=()
	if [[ -n $keep && $failed != 0 ]]; then
		say "the machine is in $machine; boot it with: systemd-nspawn -D $machine --private-network --boot"
	else
		rm -rf --one-file-system "$machine"
	fi
	# What follows, of another suite maybe, begins with the one machine that has no network.
	machine_use machine
	machine_address=''
}

machines_clean() {
	[[ ! -d $cache ]] || rm -rf --one-file-system "$cache"
}
