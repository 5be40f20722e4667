# SPDX-License-Identifier: Apache-2.0
# Names of sources -> compile_commands.json; COMPILE_LINE is in the environment, dir and src are absolute.
function quoted(s)
{
	gsub(/["\\]/, "\\\\&", s)
	return "\"" s "\""
}
BEGIN { printf "[" }
{
	printf "%s\n{ \"directory\": %s, \"file\": %s,\n  \"command\": %s }", (NR > 1 ? "," : ""), quoted(dir),
	    quoted(src "/" $0), quoted(ENVIRON["COMPILE_LINE"] " -c " src "/" $0)
}
END { print "\n]" }
