# SPDX-License-Identifier: Apache-2.0
# What locus doctor and locus fsck find, and their cures, which are carried out as they stand by who runs the test.
# test/it/cures.table and test/it/doctor_cures.table name the line that does so for each cure.

doctor_with=() # options of each run
cure_report=doctor # writes the report anew
cure_edit=''   # for sed: what an admin fills in, and where the test's own database server is

doctor() { # [OPTION...]: keeps the report; its exit status
	locus -p "$project" -o json doctor "${doctor_with[@]}" "$@" >"$work/report.json" 2>"$work/doctor.err"
}

found() { # FIELD [CHECK [WORDS]]: of each complaint of the last report, a line each
	python3 - "$work/report.json" "$@" <<-'X'
		import json, sys
		report, field, check, words = (sys.argv[1:] + ["", ""])[:4]
		report = json.load(open(report))
		for c in report["findings"] if "findings" in report else report["checks"]:
		    if "code" in c:
		        c.update(check=c["code"], verdict="ok" if c["repaired"] else {"error": "fail"}.get(c["severity"], "warn"))
		    if c["verdict"] in ("warn", "fail") and check in ("", c["check"]) and words in c["text"]:
		        print(c[field])
	X
}

verdict() { # CHECK: the worst of its findings
	python3 - "$work/report.json" "$1" <<-'X'
		import json, sys
		order = ["skipped", "ok", "warn", "fail"]
		found = [c["verdict"] for c in json.load(open(sys.argv[1]))["checks"] if c["check"] == sys.argv[2]]
		print(max(found, key=order.index) if found else "none")
	X
}

cure() { # [CHECK [WORDS]]: of the first complaint
	found cure "$@" | head -n 1
}

complains() { # CHECK VERDICT [OPTION...]: with a cure
	local check=$1 wanted=$2 status=0
	shift 2
	doctor "$@" || status=$?
	equal "$(verdict "$check")" "$wanted" && { [[ $wanted != fail ]] || equal "$status" 1; } && [[ -n $(cure "$check") ]] || {
		cat "$work/report.json"
		return 1
	}
}

# One cause, one line.
alone() { # CHECK VERDICT
	doctor
	equal "$(found check) $(found verdict)" "$1 $2" || {
		found text
		return 1
	}
}

well() { # no complaint
	doctor
	equal "$(found text)" ''
}

mends() { # [CHECK [WORDS]]: what the last report prints for it; afterwards nothing of the kind is found
	local command
	command=$(cure "$@" | sed "$cure_edit")
	echo "cure: $command"
	[[ -n $command ]] && bash -c "$command" && within 30 mended "$@"
}
mended() { # [CHECK [WORDS]]
	"$cure_report"
	equal "$(found text "$@")" '' && { [[ $# != 1 ]] || equal "$(verdict "$1")" ok; }
}

# The cure is a look at what somebody must decide: it shows what the decision is about.
shows() { # PATTERN [CHECK [WORDS]]
	local pattern=$1 command
	shift
	command=$(cure "$@" | sed "$cure_edit")
	echo "cure: $command"
	bash -c "$command" >"$work/shown" 2>&1
	grep -q -- "$pattern" "$work/shown" || { cat "$work/shown"; return 1; }
}

sick() { # CHECK VERDICT WHAT: it has just been broken
	check "$3: $1 says $2" complains "$1" "$2"
	check "$3: the cure of $1 mends it" mends "$1"
}

# --- the messages of programs, whose cure follows "run: " at their end

refused_with_cure() { # COMMAND...: fails, and keeps what it says is to be run
	! "$@" >"$work/said" 2>&1 </dev/null && to_run=$(sed -n 's/.*\<run: //p' "$work/said" | tail -n 1 | sed "$cure_edit") &&
		[[ -n $to_run ]] || { cat "$work/said"; return 1; }
}

run_cure() { # what the last message said
	echo "cure: $to_run"
	(cd "$project" && bash -c "$to_run")
}

# Then the same command succeeds.
cured_error() { # WHAT COMMAND...: it has just been broken
	local what=$1
	shift
	check "$what: refused, with a cure" refused_with_cure "$@"
	check "$what: the cure is carried out" run_cure
	check "$what: and mends" within 60 "$@"
}

# Or it was what was asked for, said better.
said_better() { # WHAT WORDS COMMAND...: the cure has this; it is carried out
	local what=$1 words=$2
	shift 2
	check "$what: refused, with a cure" refused_with_cure "$@"
	text_has "$what: the cure" "$to_run" "$words"
	check "$what: the cure is carried out" run_cure
}

# --- what other messages say to type

# Says something with "locus PATTERN", in which $cure_edit is what somebody fills in; that is typed in the project's directory.
typed() { # WHAT PATTERN COMMAND...
	local what=$1 pattern=$2
	shift 2
	"$@" >"$work/said" 2>&1 </dev/null
	to_run=$(grep -oE -e "locus (-p [^ ]+ )?$pattern" "$work/said" | head -n 1 | sed "$cure_edit")
	check "$what: says what to type" eval '[[ -n $to_run ]] || { cat "$work/said"; false; }'
	check "$what: that succeeds" eval 'run_cure >"$work/did" 2>&1 || { cat "$work/did"; false; }'
}
lists() { # OUTCOME WHAT PATTERN COMMAND...: what is typed prints the outcome
	local outcome=$1
	shift
	typed "$@"
	expect "  and has it" "$outcome" "$work/did"
}
helps() { # OUTCOME WHAT PATTERN COMMAND...: afterwards the same command prints the outcome
	local outcome=$1
	shift
	typed "$@"
	shift 2
	check "  and mends" within 30 prints "$outcome" "$@"
}
prints() { # PATTERN COMMAND...
	"${@:2}" >"$work/did" 2>&1 && grep -qE -e "$1" "$work/did" || { cat "$work/did"; false; }
}

# What locus help answers to an admin's words, with what the admin fills in.
help_answer() { # SED-SCRIPT WORD...
	to_run=$(command locus help "${@:2}" 2>&1 | sed -n 's/^  \(locus .*\)/\1/p' | head -n 1 | sed "$1")
	[[ -n $to_run ]] && LOCUS_PROJECT=$project bash -c "$to_run"
}

# --- what locus status says about failed tasks

failure_tries() { # HOW: what status prints for the failures that the workunit is an example of
	locus -p "$project" -o json status >"$work/status.json" 2>/dev/null
	python3 -c '
import json, sys
for f in json.load(open(sys.argv[1]))["failing"]:
    if f["example"].startswith(sys.argv[2] + "_"): print(f["try"]); break' "$work/status.json" "$1"
}
has_failed() {
	[[ -n $(failure_tries "$1") ]]
}
failure_mended() {
	sql_says 1 "SELECT COUNT(*) FROM workunit WHERE name = '$1' AND canonical_resultid > 0"
}
mended_by_status() { # HOW WORDS [SED-SCRIPT]: fails; what status prints for it has these words, and mends it
	local command
	need "$1: it fails" within 120 has_failed "$1"
	command=$(failure_tries "$1")
	text_has "$1: what to do" "$command" "$2"
	command=$(sed "${3-}" <<<"$command")
	echo "cure: $command"
	check "$1: the cure is carried out" bash -c "$command"
	check "$1: and mends" within 120 failure_mended "$1"
}
