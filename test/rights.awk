# SPDX-License-Identifier: Apache-2.0
# Turns tools/install/rights.def into the rows of the table in locus-install(7).
/^RIGHT\(/ {
	match($0, /"[^"]*"/)
	path = substr($0, RSTART + 1, RLENGTH - 2)
	rest = substr($0, RSTART + RLENGTH + 2)
	split(rest, f, /, /)
	gsub(/NAME/, "NAME", path)
	owner = f[2] == "ROOT" ? "root" : "locus-NAME"
	group = f[3] == "ROOT" ? "root" : f[3] == "ADM" ? "adm" : f[3] == "WEB" ? "www-data" : "locus-NAME"
	match(rest, /"[^"]*"/)
	who = substr(rest, RSTART + 1, RLENGTH - 2)
	printf ".It Pa %s\n%s:%s, %s.\n%s\n", path, owner, group, f[4], who
}
