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

# What fsck finds, for the functions of cures.sh. An admin who is asked says yes, and knows where his files are.
fsck_with=() # options of each run
fsck_report() {
	(
		[[ -z $seconds_later ]] || export STEP_LATER="$seconds_later" LD_PRELOAD="$build/test/it/step.so"
		exec "$build/tools/locus" -p "$project" -o json fsck "${fsck_with[@]}" >"$work/report.json" 2>"$work/fsck.err"
	)
}
fsck_cures() { # CODES: carries out each cure that is printed, once
	local did='' command
	cure_report=fsck_report cure_edit="s/ work cancel\\| file remove/& --yes/; s|YOUR_BACKUP|$work/backup|g"
	while fsck_report; command=$(paste -d ' ' <(found check) <(found cure) | grep -E "^(${1// /|}) " |
		sed 's/^[^ ]* //; /^nothing to do/d' | grep -vxF -f <(echo "$did") | head -n 1); [[ -n $command ]]; do
		did+=$command$'\n'
		echo "cure: $command"
		(
			[[ -z $seconds_later ]] || export STEP_LATER="$seconds_later" LD_PRELOAD="$build/test/it/step.so"
			exec bash -c "$(sed "$cure_edit" <<<"$command")"
		) >"$work/cure.out" 2>&1 || [[ $? == 1 && $command == *' fsck --repair'* ]] || { # 1: something else is left
			not_ok "the cure of $1 fails: $command"
			cat "$work/cure.out"
		}
	done
	check "a cure of $1 is printed" test -n "$did"
}

# The other way out that a cure names behind its #, with what its reader knows.
other_cure() { # CODE PATTERN SED-SCRIPT
	local command
	fsck_report
	command=$(found cure "$1" | sed -n 's/[^#]*#//p' | grep -oE "locus (-p [^ ]+ )?$2" | head -n 1 | sed "$3")
	echo "cure: $command"
	check "$1: the other cure, $2, is carried out" eval '[[ -n $command ]] && bash -c "$command" >"$work/cure.out" 2>&1 || { cat "$work/cure.out"; false; }'
}
# Then nothing is found.
cured_otherwise() { # CODE PATTERN SED-SCRIPT
	other_cure "$@"
	fsck
	is "after the other cure of $1" "$status $(fsck_codes "$1")" "0 "
}

# A finding whose words say that it needs no cure.
needs_nothing() { # CODE STATUS
	fsck
	is "codes of $1" "$status $(fsck_codes)" "$2 $1 "
	fsck_report
	text_has "what $1 needs" "$(found cure "$1")" 'nothing to do'
}

# Faults that are planted by PLANT are found, by these codes and no others; the cures printed for them leave none.
cured() { # CODES STATUS PLANT
	eval "$3"
	fsck
	is "codes of $1" "$(fsck_codes "$1")" "$1 "
	is "exit status of $1" $status "$2"
	fsck_cures "$1"
	fsck
	is "after the cures of $1" "$status $(fsck_codes "$1")" "0 "
}

# The same by an update of one row; then the work of the project, from there, comes to its end, and the database is as before.
cured_in_row() { # CODES STATUS TABLE ID COLUMNS [COMMAND]: before that
	cured "$1" "$2" "sql 'UPDATE $3 SET $5 WHERE id = $4'"
	${6-work_ends}
	project_back
}

# The rest of a project's work, done by hosts that have had none of it; then fsck has nothing to say.
work_ends() {
	work_ends_with ''
}
work_ends_with() { # CODES of warnings
	local round name host
	transition
	for ((round = 0; round < 4; round++)); do
		host=10
		for name in $(sql "SELECT name FROM result WHERE server_state IN (2, 4) ORDER BY id"); do
			host=$((host + 1))
			sql "INSERT IGNORE INTO user (id, email_addr, name, authenticator) VALUES ($host$round, '$host$round', '', '$host$round');
				INSERT IGNORE INTO host (id, userid) VALUES ($host$round, $host$round);
				UPDATE result SET server_state = 2, once = NULL WHERE name = '$name' AND server_state = 4"
			host_does "$name" $host$round same
			sql "UPDATE result SET once = userid WHERE name = '$name'"
		done
		transition
		validate
		transition
		assimilate
		[[ $(sql "SELECT COUNT(*) FROM workunit WHERE assimilate_state <> 2") != 0 ]] || break
	done
	is "all work ends" "$(sql "SELECT COUNT(*), SUM(canonical_resultid > 0 AND assimilate_state = 2) FROM workunit")" \
		"$(sql "SELECT COUNT(*), COUNT(*) FROM workunit")"
	fsck
	is "then" "$status $(fsck_codes WU_TALLY)" "0 ${1:+$1 }"
}
work_fails() { # or is cancelled
	transition
	is "the workunit has failed" "$(sql "SELECT COUNT(*) FROM workunit WHERE id = 2 AND error_mask <> 0")" 1
}

# The project as it was when project_keep was called; of its large files there is a backup.
project_keep() {
	sql 'SHOW TABLES LIKE "kept\_%"' | sed 's/.*/DROP TABLE &;/' | sql
	rm -rf "$work/kept" "$work/backup"
	mkdir "$work/kept" "$work/backup"
	cp -a ./* "$work/kept"
	find download -type f -exec cp -a {} "$work/backup" \;
	sql "SHOW FULL TABLES WHERE Table_type = 'BASE TABLE'" | cut -f 1 | sed 's/.*/CREATE TABLE kept_& AS SELECT * FROM &;/' | sql
}
project_back() {
	sql 'SHOW TABLES LIKE "kept\_%"' | sed 's/kept_\(.*\)/DELETE FROM \1; INSERT INTO \1 SELECT * FROM &;/' | sql
	rm -rf ./*
	cp -a "$work"/kept/* .
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
