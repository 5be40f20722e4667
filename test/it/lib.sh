# SPDX-License-Identifier: Apache-2.0
# The test library. A scenario sources this file first; it includes lib/*.sh, one file per subject, each function
# with its arguments behind its name. A scenario gets a directory of its own ($work), test cases that are counted,
# and an end (finish) at which nothing may be left over. The runner gives it $source, $build and $seed in the
# environment; by hand it runs in the build directory, after "make install" into inst/ there.

set -u
shopt -s lastpipe # a test case at the end of a pipeline is counted
export LC_ALL=C PYTHONDONTWRITEBYTECODE=1 # the tree stays as it is
scenario=${scenario:-$(basename "$0")}
source=${source:-$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)} build=${build:-$PWD} seed=${seed:-1}
for subject in check wait process mariadb galera sql config project hosts stock trigger daemons serving nginx machine million crowd request upload web locks \
	fsck cures alerts host_logs terminal upgrade; do
	. "$source/test/it/lib/$subject.sh" || exit 1
done
libexec=$build/inst/libexec/locus
work=$(mktemp -d "${TMPDIR:-/tmp}/locus-it.XXXXXX") || exit 1
chmod 755 "$work"
project=$work/project hosts=$work/hosts data=$work/data db_dir=$work/db
mkdir -p "$hosts" "$data"
# Schedulers keep every request and reply here, whatever account they run as; '' keeps none.
keep_rpcs=$work/rpcs
mkdir -m 1777 "$keep_rpcs"
started='' url=''
RANDOM=$seed

undo=() # commands that the end runs, the last one first
at_end() { # COMMAND
	undo=("$1" "${undo[@]}")
}

check_replies() {
	"$build/test/check_reply" "$keep_rpcs"
}

# Stops what was started, checks what must hold at every end, and prints the line with the counts that run-it reads.
# The directory stays if a test case failed.
finish() {
	local status=$? left command # no names of variables that commands of at_end use
	trap '' HUP INT TERM
	trap - EXIT
	[[ $status == 0 || $failed != 0 ]] || check "the scenario came to its end" false
	cd / && unset OLDPWD || exit 1
	hosts_stop
	if [[ -n $started ]]; then
		"${locus_stop[@]}" >/dev/null 2>&1
		check "no process is left" gone "$work" 120
		check "none crashed as it was stopped" not grep 'crashed as it was stopped' "$project/log/supervisor.log"
	fi
	for command in "${undo[@]}"; do
		"$command"
	done
	for left in $(marked "$work"); do
		kill -9 "$left"
	done
	[[ -z $keep_rpcs || -n $skipped ]] || check "every reply is one that clients take" check_replies
	echo "$scenario: $passed passed, $failed failed"
	if [[ $failed == 0 && ($passed != 0 || -n $skipped) ]]; then
		rm -rf "$work"
		exit 0
	fi
	echo "the files of this run are kept in $work"
	exit 1
}
locus_stop=(locus -p "$project" stop)
trap finish EXIT
trap 'exit 1' HUP INT TERM
