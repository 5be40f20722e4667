# SPDX-License-Identifier: Apache-2.0
# Are the figures of the soak flat? Lines DAY NAME VALUE in; a table out: the mean of the first third and of the last
# third of the time after the first month, or after ten days for a name that begins later; their ratio, and whether a
# name grows: by more than 30 % and more than its slack. -v slack_bytes, slack_memory, slack_count: what nobody counts
# as growth.
{
	if (!($2 in from)) { from[$2] = $1 + 10 > 30 ? $1 + 10 : 30; names[++n] = $2 }
	day[++k] = $1; name[k] = $2; value[k] = $3
	if ($1 > last) last = $1
}
END {
	for (i = 1; i <= k; i++) {
		first = from[name[i]]; third = (last - first) / 3
		if (day[i] < first) continue
		if (day[i] <= first + third) { a[name[i]] += value[i]; na[name[i]]++ }
		else if (day[i] >= last - third) { b[name[i]] += value[i]; nb[name[i]]++ }
	}
	printf "%-34s %14s %14s %7s\n", "what", "early", "late", "ratio"
	for (i = 1; i <= n; i++) {
		s = names[i]
		if (!na[s] || !nb[s]) continue
		early = a[s] / na[s]; late = b[s] / nb[s]
		slack = s ~ /^bytes/ ? slack_bytes : s ~ /memory/ ? slack_memory : slack_count
		grows = late > early * 1.3 && late > early + slack
		printf "%-34s %14.0f %14.0f %7.2f%s\n", s, early, late, (early > 0 ? late / early : 1), (grows ? " GROWS" : "")
	}
}
