# SPDX-License-Identifier: Apache-2.0
# locus fsck on a project of case_project: a fault is planted, found by its code, taken back and gone.

seconds_later='' # by which fsck's clock is ahead

fsck() { # OPTION...: its words in $said, its exit status in $status
	said=$(
		[[ -z $seconds_later ]] || export STEP_LATER="$seconds_later" LD_PRELOAD="$build/test/it/step.so"
		exec "$build/tools/locus" -p . fsck "$@" 2>&1
	)
	status=$?
}

fsck_is_clean() { # WHEN
	fsck
	is "exit status, $1" $status 0
	is "what is said, $1" "$said" "clean: $(fsck_codes_known | wc -l) checks, 0 errors, 0 warnings, 0 repaired"
}

fsck_codes_known() {
	sed -n 's/^\(ROWS\|DISK\)(\([A-Z0-9_]*\),.*/\2/p' "$source/tools/fsck_checks.def"
	sed -n 's/^UNSENDABLE(\([A-Z0-9_]*\),.*/WORK_\1/p' "$source/rules/sched/unsendable.def"
}

# A fault planted by SQL also leaves the workunit counted in another state: only who expects WU_TALLY sees it.
fsck_codes() { # [CODES]: in $said, one after another, a blank behind each
	echo "$said" | sed -n 's/^\([A-Z][A-Z0-9_]*\) .*/\1/p' | sort -u | if [[ ${1-} == *WU_TALLY* ]]; then cat; else grep -vx WU_TALLY; fi |
		tr '\n' ' '
}

# Faults that are planted by PLANT are found, by these codes and no others, and UNDO leaves nothing of them.
fault() { # CODES STATUS PLANT UNDO
	eval "$3"
	fsck
	is "codes of $1" "$(fsck_codes "$1")" "$1 "
	is "exit status of $1" $status "$2"
	eval "$4"
	fsck
	is "after $1" "$status $(fsck_codes)" "0 "
}

# The same by an update of one row, which is put back as it was.
fault_in_row() { # CODES STATUS TABLE ID COLUMNS
	sql "DROP TABLE IF EXISTS saved; CREATE TABLE saved AS SELECT * FROM $3 WHERE id = $4"
	fault "$1" "$2" "sql 'UPDATE $3 SET $5 WHERE id = $4'" "sql 'REPLACE INTO $3 SELECT * FROM saved'"
	sql "DROP TABLE saved"
}

# The words of a finding, planted in row 2 of workunit or row 1 of another table.
finding_says() { # CODE WORDS TABLE COLUMNS
	local id=1
	[[ $3 != workunit ]] || id=2
	sql "DROP TABLE IF EXISTS saved; CREATE TABLE saved AS SELECT * FROM $3 WHERE id = $id"
	sql "UPDATE $3 SET $4 WHERE id = $id"
	fsck
	text_has "what $1 says" "$(echo "$said" | grep "^$1 ")" "$2"
	sql "REPLACE INTO $3 SELECT * FROM saved; DROP TABLE saved"
}

# A project at work: workunit 1 is assimilated with results 1 and 2, workunit 2 has 3 in progress and 4 unsent.
fsck_project() {
	case_project
	set_option one_result_per_user_per_wu 1
	file_add h1_0001.dat 2
	need_work h1_0001.dat
	generate
	host_does h1_0001.dat__0000_0 1 same
	host_does h1_0001.dat__0000_1 2 same
	host_gets h1_0001.dat__0001_0 3 1000
	sql "UPDATE result SET once = userid WHERE sent_time > 0;
		INSERT INTO platform (name) VALUES ('x86_64-pc-linux-gnu');
		INSERT INTO app_version (appid, version_num, platformid, xml_doc) VALUES (1, 1, 1,
			'<file_info><name>prog_1</name></file_info>')"
	transition
	validate
	transition
	assimilate
	trigger_raise file_working_set h1_0001.dat
}
