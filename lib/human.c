/* SPDX-License-Identifier: Apache-2.0 */
/* Short, because it is whole: a function for each unit that people read. */
#include "lib/human.h"

#include <string.h>
#include "lib/text.h"
#include "lib/banned.h"

char *human_bytes(struct arena *a, double bytes)
{
	static const char *const units[] = { "B", "kB", "MB", "GB", "TB", "PB" };
	size_t i = 0;

	while (bytes >= 999.5 && i + 1 < N(units)) {
		bytes /= 1000;
		i++;
	}
	if (i == 0 || bytes >= 99.95)
		return arena_printf(a, "%.0f %s", bytes, units[i]);
	return arena_printf(a, "%.1f %s", bytes, units[i]);
}

char *human_text(struct arena *a, const char *text)
{
	size_t len = strlen(text);
	char *copy = arena_memdup(a, text, len - (len > 0 && text[len - 1] == '\n'));

	for (char *p = copy; *p != '\0'; p++)
		if (*p == '\t')
			*p = ' ';
	text_make_printable(copy);
	return copy;
}

char *human_span(struct arena *a, int64_t s)
{
	long long t = s < 0 ? 0 : s;

	if (t < 60)
		return arena_printf(a, "%llds", t);
	if (t < 3600)
		return arena_printf(a, "%lldm%02llds", t / 60, t % 60);
	if (t < 86400)
		return arena_printf(a, "%lldh%02lldm", t / 3600, t % 3600 / 60);
	return arena_printf(a, "%lldd%02lldh", t / 86400, t % 86400 / 3600);
}

char *human_ago(struct arena *a, int64_t time, int64_t now)
{
	if (time == 0)
		return arena_strdup(a, "never");
	return arena_printf(a, time > now ? "in %s" : "%s ago",
	    human_span(a, time > now ? time - now : now - time));
}

bool human_span_parse(const char *text, int64_t *s)
{
	static const struct {
		char unit;
		int64_t s;
	} units[] = { { 's', 1 }, { 'm', 60 }, { 'h', 3600 }, { 'd', 86400 },
		{ 'w', 604800 } };
	size_t n = strlen(text);
	char number[24];
	int64_t factor = 1;

	for (size_t i = 0; n > 1 && i < N(units); i++)
		if (text[n - 1] == units[i].unit) {
			factor = units[i].s;
			n--;
			break;
		}
	if (n == 0 || n >= sizeof(number))
		return false;
	memcpy(number, text, n);
	number[n] = '\0';
	if (!text_i64(number, 1, 10000000, s))
		return false;
	*s *= factor;
	return true;
}
