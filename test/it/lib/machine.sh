# SPDX-License-Identifier: Apache-2.0
# A machine of our own: this one's files below an overlay, with its own mounts, processes and network. What is written
# in it is in $machine/upper, so a test sees every file that a command leaves behind. Only for root.

machine='' machine_pid=''

machine_stop_all() {
	[[ -z $machine_pid ]] || kill -9 "$machine_pid" 2>/dev/null # the first process: its death ends all of them
	machine_pid=''
}

# The mounts are in a namespace that ends with the machine.
machine_boot() {
	local first=$work/machine.first
	machine=$work/machine
	mkdir -p "$machine"
	at_end machine_stop_all
	unshare --mount --pid --net --uts --ipc --fork --kill-child bash -c '
		mount --make-rprivate / && mount -t tmpfs none "$1" && mkdir "$1"/{upper,work,root} &&
		mount -t overlay overlay -o "lowerdir=/,upperdir=$1/upper,workdir=$1/work" "$1/root" &&
		root=$1/root && mount -t proc proc "$root/proc" && mount --rbind /dev "$root/dev" &&
		mount -t tmpfs -o mode=755 none "$root/run" && mkdir -m 1777 "$root/run/lock" &&
		mkdir -p "$root$2" && mount --rbind "$2" "$root$2" && mkdir -p "$root$3" && mount --rbind "$3" "$root$3" &&
		ip link set lo up && hostname machine && echo up >"$4" && exec chroot "$root" sleep 100000
	' machine "$machine" "$build" "$source" "$first" >"$work/machine.log" 2>&1 &
	within 20 test -s "$first" || { cat "$work/machine.log"; return 1; }
	machine_pid=$(pgrep -P $!)
}

in_machine() { # COMMAND...
	nsenter -t "$machine_pid" -m -p -n -u -i -r -w env -i LC_ALL=C HOME=/root \
		PATH="$build/inst/bin:/usr/sbin:/usr/bin:/sbin:/bin" "$@"
}

# Starts the machine's database server with an empty data directory.
machine_mariadb() {
	in_machine sh -c '
		mkdir -p /run/mysqld && mount -t tmpfs none /var/lib/mysql && chown mysql: /run/mysqld /var/lib/mysql &&
		mariadb-install-db --user=mysql --datadir=/var/lib/mysql --auth-root-authentication-method=socket --skip-test-db &&
		setsid mariadbd --user=mysql --skip-networking --socket=/run/mysqld/mysqld.sock >/run/mysqld/log 2>&1 </dev/null &
		i=0; until mariadb -e "" 2>/dev/null; do [ $((i = i + 1)) -lt 300 ] || exit 1; sleep 0.2; done'
}

# Everything that create may leave on the machine: files, accounts, databases and their accounts.
machine_listing() {
	nsenter -t "$machine_pid" -m sh -c "cd '$machine/upper' && find . ! -type d ! -path './tmp/*' ! -path './root/*' \
		! -path './var/cache/*' ! -path './var/log/apache2/*access.log' ! -path './var/log/apache2/error.log' \
		! -name '.pwd.lock' ! -name 'passwd*' ! -name 'group*' ! -name '*shadow*' ! -name 'sub?id*' ! -type c | sort"
	in_machine sh -c 'find /run /var/lib/locus /etc/locus /var/log/locus 2>/dev/null | grep locus
		cat /etc/passwd /etc/group /etc/shadow; ls /etc/apache2/*-enabled
		mariadb -N -e "SHOW DATABASES; SELECT user, host FROM mysql.user ORDER BY 1; SELECT user, db FROM mysql.db"'
}

# What doctor prints about a path's rights, for the project stars.
machine_cures() { # PATH
	in_machine locus -p stars -o json doctor >"$work/report"
	python3 -c 'import json, sys
for c in json.load(open(sys.argv[1]))["checks"]:
    if c["check"] == "rights" and sys.argv[2] + " " in c["text"]: print(c["cure"])' "$work/report" "$1"
}
