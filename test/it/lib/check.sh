# SPDX-License-Identifier: Apache-2.0
# Test cases, which are counted, and the conditions that they check.

passed=0 failed=0 skipped=''

ok() { # WHAT: a test case that passed
	passed=$((passed + 1))
	echo "ok: $1"
}

not_ok() { # WHAT: a test case that failed
	failed=$((failed + 1))
	echo "FAIL: $1"
}

# One test case: the command must succeed. Its output is shown if it fails.
check() { # WHAT COMMAND...
	local what=$1
	shift
	if "$@" >"$work/check.log" 2>&1; then
		ok "$what"
	else
		not_ok "$what"
		tail -n 15 "$work/check.log" | sed 's/^/    /'
	fi
}

# A test case without which the rest makes no sense: the scenario ends if it fails.
need() { # WHAT COMMAND...
	local before=$failed
	check "$@"
	[[ $failed == "$before" ]] || exit 1
}

is() { # WHAT GOT WANTED
	check "$1" equal "$2" "$3"
}

# The database's answer; columns and rows are separated by blanks.
db_is() { # WHAT WANTED SQL
	check "$1" sql_says "$2" "$3"
}

expect() { # WHAT PATTERN FILE: a line of the file matches
	check "$1" has_line "$2" "$3"
}

expect_no() { # WHAT PATTERN FILE: no line of the file matches
	check "$1" has_no_line "$2" "$3"
}

text_has() { # WHAT TEXT PART
	check "$1" contains "$2" "$3"
}

text_lacks() { # WHAT TEXT PART
	check "$1" not contains "$2" "$3"
}

# Test cases that another program has counted.
add_counts() { # PASSED FAILED
	passed=$((passed + $1)) failed=$((failed + $2))
}

# Ends the scenario without a verdict.
skip() { # WHY
	echo "skipped: $1"
	skipped=1
	exit 0
}

# The sanitizers of an instrumented build report to standard error.
no_sanitizer_report() { # [FILE...]: by default what serve has logged
	check "no sanitizer complains" not grep -E 'AddressSanitizer|runtime error' "${@:-$work/all.log}"
}

# --- conditions: for check, need, not and within

not() {
	! "$@"
}

equal() { # GOT WANTED
	[[ $1 == "$2" ]] || {
		echo "got \"$1\", wanted \"$2\""
		return 1
	}
}

contains() { # TEXT PART
	echo "\"$2\" in \"$1\"?"
	[[ $1 == *"$2"* ]]
}

has_line() { # PATTERN FILE
	grep -q -- "$1" "$2" || {
		echo "no $1 in:"
		head -c 300 "$2" | tr '\n' ' '
		return 1
	}
}

has_no_line() { # PATTERN FILE
	! grep -m 1 -- "$1" "$2"
}

says() { # STATUS TEXT COMMAND...: its exit status, and a part of its output
	local status=$1 text=$2 said
	shift 2
	said=$("$@" 2>&1)
	equal $? "$status" && [[ $said == *"$text"* ]] || {
		echo "$said"
		return 1
	}
}

sql_says() { # WANTED SQL: the database's answer; columns and rows are separated by blanks
	local said
	said=$(sql "$2") || return 1
	said=${said//[$'\t\n']/ }
	equal "$said" "$1"
}

# A test case for each line that test/it/commands prints.
commands_judged() { # COMMAND...
	local verdict what
	"$@" | while read -r verdict what; do
		[[ $verdict == '|' ]] && echo "    $what" || is "$what" "$verdict" ok
	done
}
