# SPDX-License-Identifier: Apache-2.0
# Reads the names of locus(1)'s commands with their options ("app set|--weight --sort ..."), then sources; prints what a
# literal of them tells somebody to type as "locus ..." and the command line does not know. For check-help. With hints=1
# it prints instead what messages say so, "hint:FILE COMMAND" each, but no cures behind "run: ", and no text that only
# describes a command, an option or a column.
BEGIN {
	# Prose that begins as a command does: the word after "locus" is one of these.
	n = split("trace recording works of for wrote and as", w, " ")
	for (i = 1; i <= n; i++) prose[w[i]] = 1
	# Rows of tables whose last literal is a text of a manual page; the examples of locus(1) are all of them.
	n = split("OPT TMPL JOB RIGHT EXAMPLE", w, " ")
	for (i = 1; i <= n; i++) described[w[i]] = 1
	# Those whose last literal is a cure, which has a row of its own; what follows its # has none.
	n = split("ROWS DISK UNSENDABLE", w, " ")
	for (i = 1; i <= n; i++) cure[w[i]] = 1
}
FILENAME == ARGV[1] {
	split($0, part, "|")
	options[part[1]] = part[2] " "
	next
}
# A literal, joined from its lines.
function literal_ends() {
	cured = cured || said ~ /[;,)] ([a-z ,]*, |or |first )?run: |^run: /
	if (said != "") {
		if (hints && table) { texts[++ntexts] = said; text_at[ntexts] = said_at }
		else look(said, said_at)
	}
	if (builds && said ~ /^[a-z]/) typed(said, said_at)
	said = ""
}
# A row of a .def file.
function row_ends(    i) {
	for (i = 1; i <= ntexts; i++) {
		if (i == ntexts && (row in described || taken)) continue
		if (row == "EXAMPLE") continue
		if (i == ntexts && row in cure) sub(/^locus [^#]*/, "", texts[i])
		look(texts[i], text_at[i])
	}
	ntexts = taken = 0
}
function look(text, at,    rest) {
	gsub(/\\n +/, "; ", text)
	gsub(/\\n\.(Ql|Ic|Dl|Nm|Cm|Li)?( \$)?/, " ", text)
	gsub(/\\[nt]/, " ", text)
	gsub(/\\"/, "\"", text)
	gsub(/  +/, " ", text)
	rest = " " text
	while (match(rest, /[^A-Za-z0-9_\/.<-]locus (-p [^ ]+ )?(-o [a-z]+ )?[a-z]/)) {
		rest = substr(rest, RSTART + 1)
		sub(/^locus (-p [^ ]+ )?(-o [a-z]+ )?/, "", rest)
		typed(rest, at)
	}
}
# The words of one command, which a sign of the sentence ends.
function typed(line, at,    n, w, i, name, best, used) {
	if (match(line, /[;"()`|<]|&&|, |: |\. /)) line = substr(line, 1, RSTART - 1)
	n = split(line, w, " ")
	for (i = 1; i <= n && i <= 3; i++) {
		sub(/[.,:]$/, "", w[i])
		name = i == 1 ? w[1] : name " " w[i]
		if (name in options) { best = name; used = i }
	}
	commands++
	if (hints) {
		if (!helps && best != "" && !cured) print "hint:" FILENAME " " best
		return
	}
	if (best == "") {
		if (!(w[1] in prose)) print at ": there is no command: locus " line
		return
	}
	for (i = used + 1; i <= n; i++) {
		# The sentence goes on behind the command: "locus X makes it".
		if (w[i] !~ /^--[a-z]/) continue
		sub(/[=.,:%].*/, "", w[i])
		if (index(options[best], " " w[i] " ") == 0) print at ": locus " best " has no option " w[i]
	}
}
FNR == 1 {
	literal_ends()
	row_ends()
	comment = builds = cured = helps = depth = 0
	table = FILENAME ~ /\.def$/
	page = FILENAME ~ /^html\//
}
# Commands, their options and the columns that they print.
/^[a-z#]/ { helps = /^(static )?const struct (cmd|field|listing_column) [a-z]/ || /^#define [A-Z]*_COLUMNS / }
page {
	# What is no comment is for whoever reads the page.
	sub(/^[ \t]*#.*/, "")
	gsub(/<[^>]*>/, "")
	look($0, FILENAME ":" FNR)
	next
}
{
	s = $0
	while (s != "") {
		if (comment) {
			if (!match(s, /\*\//)) break
			s = substr(s, RSTART + 2)
			comment = 0
		} else if (match(s, /^[ \t]+/)) {
			s = substr(s, RLENGTH + 1)
		} else if (match(s, /^\/\*/)) {
			comment = 1
			s = substr(s, 3)
		} else if (match(s, /^\/\//)) {
			break
		} else if (match(s, /^"([^"\\]|\\.)*"/)) {
			if (said == "") said_at = FILENAME ":" FNR
			said = said substr(s, 2, RLENGTH - 2)
			s = substr(s, RLENGTH + 1)
		} else if (match(s, /^'([^'\\]|\\.)*'/)) {
			literal_ends()
			s = substr(s, RLENGTH + 1)
		} else {
			literal_ends()
			match(s, /^[A-Za-z0-9_]+|^./)
			word = substr(s, 1, RLENGTH)
			if (table && word == "(" && depth++ == 0) row = before
			else if (table && word == ")" && --depth == 0) row_ends()
			# The text of an option that its tool acts on is help; of others, a message.
			else if (row == "OPTION" && word == "TAKEN") taken = 1
			before = word
			if (word ~ /^(locus_command|doctor_locus)$/) builds = 1
			else if (word == ";") builds = cured = 0
			else if (builds && word == "(") builds++
			else if (builds && word == ")" && --builds == 1) builds = 0
			s = substr(s, length(word) + 1)
		}
	}
}
END {
	literal_ends()
	row_ends()
	if (commands < 100) print "only " commands + 0 " commands are named: are the sources still found?"
}
