# SPDX-License-Identifier: Apache-2.0
# Triggers of locality scheduling, without any program of Locus: files of $project/locality_scheduling, or rows where
# $store is db.

store=${store:-dir}

trigger_column() { # KIND
	case $1 in
	file_working_set) echo work_available ;;
	files_no_work) echo working_set_removal ;;
	*) echo "$1" ;;
	esac
}

trigger_raise() { # KIND FILE...
	local kind=$1 column name
	column=$(trigger_column "$1")
	shift
	for name; do
		if [[ $store == dir ]]; then
			touch "$project/locality_scheduling/$kind/$name"
		else
			sql "INSERT INTO sched_trigger (fileset_id, $column, ${column}_time)
				SELECT id, 1, UNIX_TIMESTAMP() FROM fileset WHERE name = '$name'
				ON DUPLICATE KEY UPDATE $column = 1"
		fi
	done
}

trigger_lower() { # KIND FILE
	if [[ $store == dir ]]; then
		rm "$project/locality_scheduling/$1/$2"
	else
		sql "UPDATE sched_trigger SET $(trigger_column "$1") = 0
			WHERE fileset_id = (SELECT id FROM fileset WHERE name = '$2')"
	fi
}

triggers() { # KIND: names of files, sorted; a claim of need_work F is .claim-F
	if [[ $store == dir ]]; then
		ls -A "$project/locality_scheduling/$1"
	else
		[[ $1 != need_work ]] || sql "SELECT CONCAT('.claim-', name) FROM sched_trigger t
			JOIN fileset s ON s.id = t.fileset_id WHERE claim_time > 0 ORDER BY name"
		sql "SELECT name FROM sched_trigger t JOIN fileset s ON s.id = t.fileset_id
			WHERE $(trigger_column "$1") ORDER BY name"
	fi
}

triggers_clear() { # KIND...
	local kind
	for kind; do
		rm -f "$project/locality_scheduling/$kind"/*
	done
}

# Leaves the claim of a generator that died. A file tells neither owner nor age.
claim_left() { # FILE [OWNER [SECONDS]]
	if [[ $store == dir ]]; then
		touch "$project/locality_scheduling/need_work/.claim-$1"
	else
		sql "INSERT INTO sched_trigger (fileset_id, claim_time, claim_owner)
			SELECT id, UNIX_TIMESTAMP() - ${3:-0}, '${2:-$(hostname)/work_generator-app}' FROM fileset WHERE name = '$1'
			ON DUPLICATE KEY UPDATE claim_time = VALUES(claim_time), claim_owner = VALUES(claim_owner)"
	fi
}

need_work() { # FILE: asks the generator for work of the file
	trigger_raise need_work "$1"
}
