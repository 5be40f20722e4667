# SPDX-License-Identifier: Apache-2.0
# sched/rpc/steps.def, doc/architecture.md -> that page, with the diagram of the steps as the table gives it:
# what stands between the lines "<!-- steps -->" and "<!-- end of steps -->".

# STEP(name, takes, resume, successors, "what it does")
FNR == NR && /^STEP\(/ {
	line = $0
	sub(/^STEP\(/, "", line)
	what = line
	sub(/^[^"]*"/, "", what)
	sub(/"\)$/, "", what)
	sub(/ *"[^"]*"\)$/, "", line)
	split(line, word, /, */)
	n++
	name[n] = word[1]
	takes[n] = word[2]
	resume[n] = word[3]
	to = word[4]
	gsub(/TO\(/, "", to)
	gsub(/\) */, " │ ", to)
	sub(/ │ *,? *$/, "", to)
	next_of[n] = to
	does[n] = what
	if (length(word[1]) > wide)
		wide = length(word[1])
}
FNR == NR { next }
/^<!-- steps -->$/ {
	print
	print "```"
	for (i = 1; i <= n; i++)
		printf " %-" wide "s ──▶ %s\n", name[i], next_of[i]
	print "```\n\n| Step | Takes | What it does | After E_RETRY |\n|---|---|---|---|"
	for (i = 1; i <= n; i++)
		printf "| %s | %s | %s | %s |\n", name[i], takes[i], does[i], resume[i]
	skip = 1
}
/^<!-- end of steps -->$/ { skip = 0 }
!skip
