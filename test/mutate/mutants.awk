# SPDX-License-Identifier: Apache-2.0
# Prints every one-token change that a test of the rules should notice, one per line:
#
#     awk -v seed=S -f mutants.awk FILE...
#     file  order  line  position  length  new text  change  function  text of the line
#
# separated by tabs. The position counts bytes from 1. The order, ten digits, is derived from the
# seed and the text of the change, not from its position, so lines added elsewhere do not change a
# sample. Relies on the layout of clang-format: binary operators have a blank on both sides, a
# function's head begins in column 0, and its braces stand there alone.
#
# Not changed: comments, strings, preprocessor lines, assert(), sizes of arrays and allocations,
# { 0 }, and the magnitude in "? -1 : 1", because sorting only looks at the sign.
BEGIN {
	FS = "\001"
	swap("< <= >=|<= < >|> >= <=|>= > <|== !=|!= ==|&& \\|\\||\\|\\| &&")
	swap("+ -|- +|* /|/ *|+= -=|-= +=|*= /=|/= *=|true false|false true")
	for (i = 1; i < 256; i++)
		code[sprintf("%c", i)] = i
}
FNR == 1 { file_done(); file = FILENAME; start = 1; fn = head = "-"; comment = cpp = 0 }
{
	text[FNR] = $0
	if ($0 ~ /^[A-Za-z_].*\(/) {
		head = $0
		sub(/\(.*/, "", head)
		sub(/.*[ *]/, "", head)
	}
	if ($0 == "{")
		fn = head
	in_fn[FNR] = fn
	if (cpp || (!comment && $0 ~ /^[ \t]*#/))
		cpp = /\\$/
	else
		tokens($0)
	if ($0 ~ /^}/)
		fn = "-"
	start += length($0) + 1
}
END { file_done() }

function swap(list,    i, j, n, m, a, b) {
	gsub(/\\\|/, "\002", list)
	n = split(list, a, "|")
	for (i = 1; i <= n; i++) {
		m = split(a[i], b, " ")
		gsub(/\002/, "|", b[1])
		for (j = 2; j <= m; j++) {
			gsub(/\002/, "|", b[j])
			into[b[1]] = into[b[1]] " " b[j]
		}
	}
}

function add(kind, word, column) {
	n++
	T[n] = word; K[n] = kind; L[n] = FNR; P[n] = start + column - 1
	if (word ~ /^[([{]$/)
		open[++depth] = n
	else if (word ~ /^[])}]$/ && depth > 0) {
		M[n] = open[depth--]
		M[M[n]] = n
	}
}

function tokens(s,    p, rest, kind) {
	for (p = 1; p <= length(s); p += RLENGTH) {
		rest = substr(s, p)
		kind = ""
		if (comment) {
			RLENGTH = index(rest, "*/") + 1
			if (RLENGTH == 1)
				return
			comment = 0
		} else if (match(rest, /^[ \t]+/)) {
		} else if (substr(rest, 1, 2) == "/*") {
			comment = 1
			RLENGTH = 2
		} else if (substr(rest, 1, 2) == "//") {
			return
		} else if (match(rest, /^"([^"\\]|\\.)*"/) || match(rest, /^'([^'\\]|\\.)*'/)) {
			kind = "text"
		} else if (match(rest, /^[A-Za-z_][A-Za-z_0-9]*/)) {
			kind = "word"
		} else if (match(rest, /^0[xX][0-9a-fA-F]+[uUlL]*/) ||
		    match(rest, /^[0-9]+(\.[0-9]*)?([eE][-+]?[0-9]+)?[uUlLfF]*/)) {
			kind = "number"
		} else {
			kind = "op"
			if (!match(rest, /^(<<=|>>=|\.\.\.)/) &&
			    !match(rest, /^(->|\+\+|--|<<|>>|<=|>=|==|!=|&&|\|\||[-+*\/%&|^]=)/))
				RLENGTH = 1
		}
		if (kind != "")
			add(kind, substr(rest, 1, RLENGTH), p)
	}
}

# Returns the far end of the left (d = -1) or right (d = 1) operand of T[i]. The operand includes
# weak operators that bind more tightly than T[i].
function operand(i, d,    j, w) {
	for (j = i + d; j > 0 && j <= n; j += d) {
		w = T[j]
		if ((d < 0 ? w ~ /^[])}]$/ : w ~ /^[([{]$/) && M[j])
			j = M[j]
		else if (w ~ /^[][(){};,?:]$/ || w ~ /^([-+*\/%&|^]|<<|>>)?=$/ || w == "return" ||
		    (w == "||" && T[i] != "?") || (w == "&&" && T[i] == "&&"))
			break
	}
	return j - d
}

function squeezed(s) {
	gsub(/[ \t]+/, " ", s)
	sub(/^ /, "", s)
	sub(/ $/, "", s)
	return s
}

function span_text(a, b,    s, i) {
	for (i = L[a]; i <= L[b]; i++)
		s = s text[i] "\n"
	s = substr(s, P[a] - line_start[L[a]] + 1, P[b] + length(T[b]) - P[a])
	gsub(/\n/, " ", s)
	return squeezed(s)
}

# Replaces T[a] to T[b]; the number of lines stays the same.
function mutant(a, b, new, change,    id, i, h, s) {
	if ((P[a], b, new) in seen)
		return
	seen[P[a], b, new] = 1
	if (change == "")
		change = span_text(a, b) " → " new
	id = in_fn[L[a]] "\t" squeezed(text[L[a]])
	if (++times[change, L[a]] > 1)
		change = change " #" times[change, L[a]]
	s = seed " " file " " change " " id
	h = 1
	for (i = 1; i <= length(s); i++)
		h = (h * 16807 + code[substr(s, i, 1)]) % 2147483647
	for (i = L[a]; i < L[b]; i++)
		new = new "\\n"
	printf "%s\t%010d\t%d\t%d\t%d\t%s\t%s\t%s\n", file, h, L[a], P[a],
	    P[b] + length(T[b]) - P[a], new, change, id
}

function conditions(i, cut,    a, b) {
	mutant(a = operand(i, -1), i - 1, cut)
	mutant(i + 1, b = operand(i, 1), cut)
}

function sign_only(i,    s, j) {
	for (j = i - 4; j <= i + 3; j++)
		s = s (j == i ? "<" T[j] ">" : T[j])
	return s ~ /[?](-<1>:1|-1:<1>|<1>:-1|1:-<1>)/
}

function number(i,    s, tail) {
	s = T[i]
	tail = s
	if (s ~ /^0[xX]/) {
		mutant(i, i, "(" s " + 1)")
	} else if (s ~ /[.eE]/) {
		mutant(i, i, s + 0 == 0 ? "1.0" : "(2 * " s ")")
	} else {
		sub(/^[0-9]+/, "", tail)
		if (!sign_only(i))
			mutant(i, i, sprintf("%.0f", s + 1) tail)
		if (s + 0 == 1)
			mutant(i, i, "0" tail)
	}
}

function spaced(i) {
	return P[i - 1] + length(T[i - 1]) < P[i] && P[i] + length(T[i]) < P[i + 1]
}

# Is T[i] the size of an array that is declared here?
function array_size(i) {
	if (T[i - 1] != "[" || T[i + 1] != "]")
		return 0
	for (i -= 2; T[i] == "]"; i = M[i] - 1)
		;
	return K[i] == "word" && ((K[i - 1] == "word" && T[i - 1] !~ /^(return|case|else)$/) ||
	    (T[i - 1] == "*" && !spaced(i - 1)))
}

function one(i,    w, m, j, list) {
	w = T[i]
	if (K[i] == "number" && !array_size(i) && !(T[i - 1] == "{" && w == "0" && T[i + 1] == "}"))
		number(i)
	if (w in into && (w ~ /^[<>]$/ || K[i] == "word" || spaced(i))) {
		m = split(into[w], list, " ")
		for (j = 1; j <= m; j++)
			mutant(i, i, list[j])
	}
	if ((w == "-" && !spaced(i) && K[i - 1] == "op" && T[i - 1] !~ /^[])]$/) || w == "!")
		mutant(i, i, "nothing")
	if (w == "&&")
		conditions(i, "true")
	if (w == "||")
		conditions(i, "false")
	if (w == "if" && T[i + 1] == "(") {
		mutant(i + 2, M[i + 1] - 1, "true")
		mutant(i + 2, M[i + 1] - 1, "false")
	}
	if (w == "?") {
		mutant(operand(i, -1), i - 1, "true")
		mutant(operand(i, -1), i - 1, "false")
	}
}

function file_done(    i) {
	line_start[1] = 1
	for (i = 1; i in text; i++)
		line_start[i + 1] = line_start[i] + length(text[i]) + 1
	for (i = 1; i <= n; i++) {
		if (T[i] ~ /^(assert|_Static_assert|static_assert|NEWN)$/ && T[i + 1] == "(")
			i = M[i + 1]
		else
			one(i)
	}
	split("", text); split("", in_fn); split("", line_start); split("", times)
	split("", T); split("", K); split("", L); split("", P); split("", M); split("", seen)
	n = depth = 0
}
