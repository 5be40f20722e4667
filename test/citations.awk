# SPDX-License-Identifier: Apache-2.0
# Holds citations against what they cite. The files of doc/ come first, then whatever else cites them.
#
#   protocol.md 5.3                  the section with this number of doc/protocol.md
#   protocol.md 5.3, 5.6 and 6       sections; a citation may go on in the next line
#   doc/locality.md 1.1 (L13 to L15) what a section numbers: rows of a table, list items, "Row 30:"
#   test/fuzz/README.md              a file: from the root, of doc/, or beside the one that names it
#
# In doc/ and CONTRIBUTING.md moreover: `function()` in `folder/file.c` must be defined there, and `folder/file.c` must
# exist; NAME in a path stands for any.

function there(path,    line, ok)
{
	if (!(path in found)) {
		ok = (getline line < path) >= 0
		if (ok)
			close(path)
		found[path] = ok
	}
	return found[path]
}

function complain(what)
{
	if (!((at, what) in said))
		print at ": " what
	said[at, what] = 1
}

# The file that a name stands for, or "".
function file_of(name,    dir)
{
	dir = citing
	if (!sub(/[^\/]*$/, "", dir))
		dir = ""
	if (name !~ /\// && there("doc/" name))
		return "doc/" name
	if (there(dir name))
		return dir name
	return there(name) ? name : ""
}

# "L13 to L15" is three items.
function check_items(file, section, list,    i, n, w, stem, from, to)
{
	gsub(/^ *\(|\)$/, "", list)
	n = split(list, w, /, | and /)
	for (i = 1; i <= n; i++) {
		sub(/^rows? /, "", w[i])
		if (w[i] !~ / to /) {
			check_item(file, section, w[i])
			continue
		}
		stem = w[i]; sub(/[0-9].*/, "", stem)
		from = w[i]; sub(/ to .*/, "", from); sub(/^[A-Z]*/, "", from)
		to = w[i]; sub(/.* to /, "", to); sub(/^[A-Z]*/, "", to)
		for (from += 0; from <= to + 0; from++)
			check_item(file, section, stem from)
	}
}

function check_item(file, section, item)
{
	if (!((file, section, item) in items))
		complain(file " " section " has no item " item)
}

# What follows the name of a file: sections, each with items perhaps.
function check_sections(file, rest,    s, list, sep)
{
	if (!match(rest, /^,? +[0-9]/))
		return
	sub(/^,? +/, "", rest)
	while (match(rest, /^[0-9]+(\.[0-9]+)*/)) {
		s = substr(rest, 1, RLENGTH)
		rest = substr(rest, RLENGTH + 1)
		if (!((file, s) in sections))
			complain("cites " file " " s ", which has no such section")
		else if (match(rest, /^ \((rows? )?[A-Z]*[0-9]+((, | and | to )[A-Z]*[0-9]+)*\)/)) {
			list = substr(rest, 1, RLENGTH)
			rest = substr(rest, RLENGTH + 1)
			check_items(file, s, list)
		}
		if (!match(rest, /^(, | and | to )[0-9]/))
			return
		rest = substr(rest, RLENGTH)
	}
}

# Citations that begin in the first n characters of text.
function check_text(text, n,    rest, off, name, file, after, shell)
{
	rest = text
	off = 0
	while (match(rest, /[A-Za-z0-9_.\/-]*[A-Za-z0-9_-]\.md|[Ss]eeds? 00[0-9]/)) {
		name = substr(rest, RSTART, RLENGTH)
		after = substr(rest, RSTART + RLENGTH)
		shell = RSTART > 1 && substr(rest, RSTART - 1, 1) ~ /[${]/ # "$dir/README.md"
		if (off + RSTART > n)
			return
		off += RSTART + RLENGTH - 1
		rest = after
		sub(/^(\.\.?\/)+/, "", name)
		if (shell || after ~ /^[A-Za-z0-9_(]/ || name ~ /^NAME/)
			continue
		file = name ~ /\.md$/ ? file_of(name) : ""
		if (file == "")
			complain("cites " name ", which is not in the repository")
		else
			check_sections(file, after)
	}
}

function defines(file, name,    line, yes)
{
	if (!((file, name) in defined)) {
		while ((getline line < file) > 0)
			if ((line ~ ("^([a-z].*[ *])?" name "\\(") && line !~ /;$/) || line ~ ("^#define " name "\\("))
				yes = 1
		close(file)
		defined[file, name] = yes
	}
	return defined[file, name]
}

# `f()` in `file`, and `file`, in a page of doc/.
function check_names(text, n,    rest, off, fn, file)
{
	rest = text
	off = 0
	while (match(rest, /`[a-z][a-z_]*\/[A-Za-z0-9_.\/-]*\.(c|h|def|awk|sql|table|json)`/)) {
		file = substr(rest, RSTART + 1, RLENGTH - 2)
		if (off + RSTART > n)
			break
		if (file !~ /NAME/ && !there(file))
			complain("names " file ", which is not in the repository")
		off += RSTART + RLENGTH - 1
		rest = substr(rest, RSTART + RLENGTH)
	}
	rest = text
	off = 0
	while (match(rest, /`[a-z_0-9]+\(\)` in `[^`]+`/)) {
		if (off + RSTART > n)
			return
		fn = substr(rest, RSTART + 1, RLENGTH - 1)
		file = fn
		sub(/\(\).*/, "", fn)
		sub(/.* in `/, "", file); sub(/`$/, "", file)
		if (there(file) && !defines(file, fn))
			complain("names " fn "(), which " file " does not define")
		off += RSTART + RLENGTH - 1
		rest = substr(rest, RSTART + RLENGTH)
	}
}

# Sections of a page, and what they number.
function learn(line,    s, w)
{
	if (line ~ /^#/) {
		here = ""
		s = line
		while (match(s, /^(#+ |.* and )[0-9]+(\.[0-9]+)*/)) {
			here = substr(s, RSTART, RLENGTH)
			sub(/.* /, "", here)
			sections[FILENAME, here] = 1
			s = s ~ /^#+ [0-9.]+ and [0-9]/ ? substr(s, RLENGTH + 1) : ""
		}
		return
	}
	if (here == "")
		return
	w = line
	if (match(w, /^ *\| *[A-Z]*[0-9]+ *\|/) || match(w, /^ *[0-9]+\. /) || match(w, /^Row [0-9]+:/)) {
		w = substr(w, RSTART, RLENGTH)
		gsub(/[ |.:]|Row/, "", w)
		items[FILENAME, here, w] = 1
	}
	# "8. Files. 9. Points." in one line: the later ones, too
	w = line
	while (line ~ /^ *[0-9]+\. / && match(w, /[.:] [0-9]+\. /)) {
		s = substr(w, RSTART + 2, RLENGTH - 4)
		items[FILENAME, here, s] = 1
		w = substr(w, RSTART + RLENGTH - 1)
	}
}

function judge(text, n)
{
	at = citing ":" line_of_last
	check_text(text, n)
	if (citing ~ /^doc\/|^CONTRIBUTING\.md$/)
		check_names(text, n)
}

# Files are read twice: what is cited may stand further down, or in a later page.
BEGIN {
	for (i = 1; i < ARGC; i++) {
		FILENAME = ARGV[i]
		here = ""
		while (FILENAME ~ /^doc\// && (getline line < FILENAME) > 0)
			learn(line)
		close(FILENAME)
	}
}
FNR == 1 {
	if (citing != "")
		judge(last " ", length(last) + 1)
	citing = FILENAME
	last = ""
	line_of_last = 0
}
{
	line = $0
	sub(/^[ \t]*(\/\*+|\*\/|\*|#+|\/\/|\.\\")?[ \t]*/, "", line)
	if (FNR > 1)
		judge(last " " line, length(last) + 1)
	last = line
	line_of_last = FNR
}
END {
	if (citing != "")
		judge(last " ", length(last) + 1)
}
