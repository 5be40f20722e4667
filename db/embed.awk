# SPDX-License-Identifier: Apache-2.0
# schema.sql to a C file: an array of statements, its last element NULL.
BEGIN {
	print "/* Made from schema.sql; do not edit. */"
	print "#include \"db/private.h\"\n"
	print "const char *const schema_sql[] = {"
}
/^--/ || /^$/ { next }
{
	line = $0
	gsub(/\\/, "\\\\", line)
	gsub(/"/, "\\\"", line)
	gsub(/\t/, "\\t", line)
	print "\t\"" line "\\n\""
}
/;$/ { print "\t," }
END { print "\tNULL\n};" }
