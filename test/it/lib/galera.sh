# shellcheck shell=sh
# SPDX-License-Identifier: Apache-2.0
# A private Galera cluster on loopback for tests: unix sockets for clients, TCP between the nodes only.
#
#   galera_ready              can this machine run one? else prints what is missing
#   galera_start DIR N        N nodes in DIR/n1 .. DIR/nN, sockets DIR/nK/mysql.sock, pids DIR/nK/pid
#   galera_node DIR K         starts node K, also again; it joins the others and catches up
#   galera_kill DIR K         kill -9
#   galera_stop DIR           ends all; DIR stays
#   galera_sql DIR K [DATABASE [OPTION...]]
#
# If we are root, mariadbd runs as the account mysql.

galera_lib=/usr/lib/galera/libgalera_smm.so

galera_ready() {
	for _gal_need in mariadbd mariadb-install-db rsync; do
		command -v $_gal_need >/dev/null || { echo "$_gal_need is not installed"; return 1; }
	done
	[ -e $galera_lib ] || { echo "$galera_lib is not there (Debian: galera-4)"; return 1; }
}

galera_sql() {
	_gal_sock=$1/n$2/mysql.sock
	shift 2
	mariadb --no-defaults -u root -S "$_gal_sock" -N "$@"
}

_galera_up() { # DIR K: does it accept statements on tables?
	[ "$(galera_sql "$1" "$2" -e "SELECT variable_value FROM information_schema.global_status
		WHERE variable_name = 'wsrep_ready'" 2>/dev/null)" = ON ]
}

_galera_wait() { # DIR K
	_gal_tries=0
	until _galera_up "$1" "$2"; do
		_gal_tries=$((_gal_tries + 1))
		if [ $_gal_tries -gt 600 ] || ! kill -0 "$(cat "$1/n$2/pid")" 2>/dev/null; then
			echo "galera: node $2 does not come up" >&2
			tail -n 20 "$1/n$2/error.log" >&2
			return 1
		fi
		sleep 0.1
	done
}

# Each node has four ports, counted from a random base.
galera_node() { # DIR K
	_gal_dir=$1 _gal_base=$(cat "$1/base") _gal_user='' _gal_new='' _gal_all=''
	[ "$(id -u)" != 0 ] || _gal_user=--user=mysql
	for _gal_k in $(cat "$1/nodes"); do
		[ "$_gal_k" = "$2" ] || ! kill -0 "$(cat "$1/n$_gal_k/pid" 2>/dev/null)" 2>/dev/null ||
			_gal_all=$_gal_all${_gal_all:+,}127.0.0.1:$((_gal_base + 10 * _gal_k))
	done
	[ -n "$_gal_all" ] || _gal_new=--wsrep-new-cluster
	_gal_at=$((_gal_base + 10 * $2))
	mariadbd --no-defaults ${_gal_user:+"$_gal_user"} --datadir="$1/n$2/data" --tmpdir="$1/n$2/run" \
		--socket="$1/n$2/run/mysql.sock" --pid-file="$1/n$2/run/server.pid" --log-error="$1/n$2/error.log" \
		--skip-networking --skip-name-resolve --performance-schema=OFF --binlog-format=ROW --innodb-autoinc-lock-mode=2 \
		--innodb-buffer-pool-size=64M --innodb-log-file-size=16M --innodb-flush-log-at-trx-commit=0 \
		--wsrep-on=ON --wsrep-provider=$galera_lib --wsrep-cluster-name=locus-test --wsrep-node-name="n$2" \
		--wsrep-cluster-address="gcomm://$_gal_all" --wsrep-node-address="127.0.0.1:$_gal_at" \
		--wsrep-sst-method=rsync --wsrep-sst-receive-address="127.0.0.1:$((_gal_at + 2))" \
		--wsrep-provider-options="gmcast.listen_addr=tcp://127.0.0.1:$_gal_at;ist.recv_addr=127.0.0.1:$((_gal_at + 1));gcache.size=32M" \
		$_gal_new >/dev/null 2>&1 </dev/null &
	echo $! >"$1/n$2/pid"
	ln -sf run/mysql.sock "$1/n$2/mysql.sock"
	_galera_wait "$_gal_dir" "$2"
}

galera_start() { # DIR N
	mkdir -p "$1" && chmod 755 "$1" || return 1
	seq "$2" >"$1/nodes"
	echo $((32000 + $(od -An -N2 -tu2 /dev/urandom) % 100 * 40)) >"$1/base"
	for _gal_n in $(seq "$2"); do
		mkdir -p "$1/n$_gal_n/data" "$1/n$_gal_n/run"
		if [ "$_gal_n" = 1 ]; then
			mariadb-install-db --no-defaults --auth-root-authentication-method=normal --skip-test-db --force \
				--datadir="$1/n1/data" --tmpdir="$1/n1/run" >"$1/install.log" 2>&1 || return 1
		fi
		[ "$(id -u)" != 0 ] || chown -R mysql "$1/n$_gal_n"
		galera_node "$1" "$_gal_n" || return 1
	done
}

galera_kill() { # DIR K
	kill -9 "$(cat "$1/n$2/pid")"
	while kill -0 "$(cat "$1/n$2/pid")" 2>/dev/null; do sleep 0.05; done
}

# The last node first: a node that leaves regularly does not stop the others.
galera_stop() { # DIR
	for _gal_k in $(sort -rn "$1/nodes" 2>/dev/null); do
		_gal_pid=$(cat "$1/n$_gal_k/pid" 2>/dev/null) || continue
		kill "$_gal_pid" 2>/dev/null
		_gal_tries=0
		while kill -0 "$_gal_pid" 2>/dev/null; do
			_gal_tries=$((_gal_tries + 1))
			[ $_gal_tries -lt 200 ] || kill -9 "$_gal_pid" 2>/dev/null
			sleep 0.05
		done
	done
}
