# SPDX-License-Identifier: Apache-2.0
# Prints the SQL that makes a BOINC project's database, from the dictionary of a real one (boinc/: information_schema's
# tables, columns and indexes). awk -f boinc-schema.awk boinc/tables.tsv boinc/indexes.tsv boinc/columns.tsv
# The dictionary lacks the foreign keys of fileset_file, whose rows are deleted with their file or file set.
BEGIN {
	FS = "\t"
}

function quoted(list) {
	gsub(/,/, "`, `", list)
	return "`" list "`"
}

FILENAME ~ /tables\.tsv$/ {
	engine[$1] = $2
	collation[$1] = $3
	next
}

FILENAME ~ /indexes\.tsv$/ {
	index_of[$1, ++nindexes[$1]] = $2
	columns_of[$1, nindexes[$1]] = $4
	unique_of[$1, nindexes[$1]] = $3 == 0
	next
}

# A text column without a prefix length belongs to a FULLTEXT index.
function put_keys(t, i, k, n, part, kind) {
	for (i = 1; i <= nindexes[t]; i++) {
		kind = unique_of[t, i] ? "UNIQUE KEY" : "KEY"
		n = split(columns_of[t, i], part, ",")
		for (k = 1; k <= n; k++)
			if (type_of[t, part[k]] ~ /text/)
				kind = "FULLTEXT KEY"
		if (index_of[t, i] == "PRIMARY")
			keys[t] = keys[t] ",\n\tPRIMARY KEY (" quoted(columns_of[t, i]) ")"
		else
			keys[t] = keys[t] ",\n\t" kind " `" index_of[t, i] "` (" quoted(columns_of[t, i]) ")"
	}
}

{
	type_of[$1, $3] = $4
	line[$1] = line[$1] (line[$1] == "" ? "" : engine[$1] == "NULL" ? ", " : ",\n")
	if (engine[$1] == "NULL") {
		line[$1] = line[$1] $3
	} else {
		line[$1] = line[$1] "\t`" $3 "` " $4
		if ($8 != "-")
			line[$1] = line[$1] " CHARACTER SET " $8 " COLLATE " $9
		line[$1] = line[$1] ($5 == "NO" ? " NOT NULL" : " NULL")
		if ($6 != "-" && $6 != "")
			line[$1] = line[$1] " DEFAULT " ($4 ~ /text|blob/ && $6 != "NULL" ? "(" $6 ")" : $6)
		if ($7 != "" && $7 != "-")
			line[$1] = line[$1] " " $7
	}
	if (!($1 in seen)) {
		seen[$1] = 1
		order[++ntables] = $1
	}
}

END {
	for (i = 1; i <= ntables; i++) {
		t = order[i]
		if (engine[t] == "NULL") {
			views = views "CREATE VIEW `" t "` AS SELECT " line[t] " FROM consent;\n"
			continue
		}
		put_keys(t)
		printf "CREATE TABLE `%s` (\n%s%s\n) ENGINE=%s DEFAULT CHARSET=latin1 COLLATE=%s;\n", t, line[t], keys[t], engine[t], collation[t]
	}
	printf "%s", views
	print "ALTER TABLE fileset_file ADD FOREIGN KEY (fileset_id) REFERENCES fileset (id) ON DELETE CASCADE,"
	print "\tADD FOREIGN KEY (file_id) REFERENCES file (id) ON DELETE CASCADE;"
}
