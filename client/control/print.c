/* SPDX-License-Identifier: Apache-2.0 */
/* A running host's answers, for people. */
#include "client/control/control.h"

#include <stdio.h>
#include <string.h>
#include "lib/clock.h"
#include "lib/banned.h"

enum { COLUMNS_MOST = 8, CELL_MOST = 512, MINUTE_S = 60, HOUR_S = 3600 };

/* --- cells --- */

static const char *
text_cell(const json_t *v, char *cell)
{
	(void)cell;
	return json_is_string(v) && json_string_length(v) > 0 ? json_string_value(v) :
	                                                        "-";
}

static const char *
number_cell(const json_t *v, char *cell)
{
	snprintf(cell, CELL_MOST, "%.6g", json_number_value(v));
	return cell;
}

static const char *
percent_cell(const json_t *v, char *cell)
{
	snprintf(cell, CELL_MOST, "%.1f%%", 100 * json_number_value(v));
	return cell;
}

static const char *
duration_cell(const json_t *v, char *cell)
{
	double s = json_number_value(v);
	int64_t n = s > 1e15 ? (int64_t)1e15 : (int64_t)s;

	snprintf(cell, CELL_MOST, "%lld:%02lld:%02lld", (long long)(n / HOUR_S),
	    (long long)(n % HOUR_S / MINUTE_S), (long long)(n % MINUTE_S));
	return cell;
}

static const char *
time_cell(const json_t *v, char *cell)
{
	if (json_integer_value(v) <= 0)
		return "-";
	return clock_text(json_integer_value(v), cell);
}

static const char *
flag_cell(const json_t *v, char *cell)
{
	(void)cell;
	return json_is_true(v) ? "yes" : "no";
}

/* --- tables --- */

struct column {
	const char *title, *key;
	const char *(*cell)(const json_t *, char *);
};
static const struct column task_columns[] = { { "TASK", "name", text_cell },
	{ "STATE", "state", text_cell }, { "DONE", "fraction_done", percent_cell },
	{ "RAN", "elapsed_s", duration_cell }, { "LEFT", "remaining_s", duration_cell },
	{ "DEADLINE", "deadline", time_cell }, { "PROJECT", "project", text_cell } };
static const struct column project_columns[] = { { "PROJECT", "url", text_cell },
	{ "NAME", "name", text_cell }, { "HOST", "hostid", number_cell },
	{ "SHARE", "share", number_cell }, { "TASKS", "unfinished", number_cell },
	{ "TO REPORT", "to_report", number_cell },
	{ "SUSPENDED", "suspended", flag_cell },
	{ "NO MORE", "nomorework", flag_cell } };

_Static_assert(N(task_columns) <= COLUMNS_MOST && N(project_columns) <= COLUMNS_MOST,
    "every column has a width");

static void
print_table(const struct column *columns, size_t n, const json_t *rows)
{
	size_t width[COLUMNS_MOST];
	char cell[CELL_MOST];
	const json_t *row;
	size_t i;

	for (size_t k = 0; k < n; k++) {
		width[k] = strlen(columns[k].title);
		json_array_foreach(rows, i, row)
		{
			const json_t *v = json_object_get(row, columns[k].key);
			size_t w = strlen(columns[k].cell(v, cell));

			width[k] = w > width[k] ? w : width[k];
		}
	}
	for (size_t k = 0; k < n; k++)
		printf("%-*s%s", k + 1 < n ? (int)width[k] : 0, columns[k].title,
		    k + 1 < n ? "  " : "\n");
	json_array_foreach(rows, i, row) for (size_t k = 0; k < n; k++)
	    printf("%-*s%s", k + 1 < n ? (int)width[k] : 0,
		columns[k].cell(json_object_get(row, columns[k].key), cell),
		k + 1 < n ? "  " : "\n");
}

/* --- status --- */

static void
print_mode(const char *name, const json_t *mode)
{
	const char *by = json_string_value(json_object_get(mode, "hindered_by"));
	int64_t until = json_integer_value(json_object_get(mode, "until"));
	char when[CELL_MOST];

	printf("%-14s %s", name,
	    json_is_true(json_object_get(mode, "allowed")) ? "yes" : "no");
	if (by != NULL && by[0] != '\0')
		printf(", because of %s", by);
	printf("; mode %s", json_string_value(json_object_get(mode, "mode")));
	if (until > 0)
		printf(" until %s", clock_text(until, when));
	printf("\n");
}

static void
print_numbers(const char *name, json_t *counts)
{
	const char *key, *between = "";
	json_t *v;

	printf("%-14s ", name);
	json_object_foreach(counts, key, v)
	{
		printf("%s%s %.6g", between, key, json_number_value(v));
		between = ", ";
	}
	printf("%s\n", between[0] == '\0' ? "none" : "");
}

static void
print_status(const json_t *o)
{
	printf("%-14s %s, process %lld, version %s\n", "client",
	    json_string_value(json_object_get(o, "dir")),
	    (long long)json_integer_value(json_object_get(o, "pid")),
	    json_string_value(json_object_get(o, "version")));
	printf("%-14s %.6g\n", "processors",
	    json_number_value(json_object_get(o, "ncpus")));
	print_numbers("coprocessors", json_object_get(o, "coprocessors"));
	printf("%-14s %s\n", "policy", json_string_value(json_object_get(o, "policy")));
	print_mode("computing", json_object_get(o, "computing"));
	print_mode("coprocessing", json_object_get(o, "coprocessing"));
	print_mode("network", json_object_get(o, "network"));
	printf("%-14s %lld\n", "projects",
	    (long long)json_integer_value(json_object_get(o, "projects")));
	print_numbers("tasks", json_object_get(o, "tasks"));
}

/* --- any answer --- */

static void
print_document(const json_t *o)
{
	json_dumpf(o, stdout, JSON_INDENT(2));
	printf("\n");
}

int
print_answer(const char *word, bool json, const json_t *o)
{
	const char *error = json_string_value(json_object_get(o, "error"));

	if (error != NULL) {
		if (json)
			print_document(o);
		fprintf(stderr, "locus-client: %s\n", error);
		return (int)json_integer_value(json_object_get(o, "exit"));
	}
	if (json)
		print_document(o);
	else if (strcmp(word, "status") == 0)
		print_status(o);
	else if (strcmp(word, "tasks") == 0)
		print_table(task_columns, N(task_columns), json_object_get(o, "tasks"));
	else if (strcmp(word, "projects") == 0)
		print_table(project_columns, N(project_columns),
		    json_object_get(o, "projects"));
	else
		printf("%s\n", json_string_value(json_object_get(o, "done")));
	return fflush(stdout) == 0 ? 0 : 1;
}
