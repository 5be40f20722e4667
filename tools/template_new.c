/* SPDX-License-Identifier: Apache-2.0 */
/*
 * locus template new: a commented pair of templates from options, or from answers on a
 * terminal, and the commands that come next.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "lib/buf.h"
#include "lib/fs.h"
#include "lib/text.h"
#include "tools/confirm.h"
#include "tools/print/print.h"
#include "tools/template.h"
#include "lib/banned.h"

/* An ordinary processor of a volunteer, for people who think in hours. */
#define USUAL_FLOPS 4e9
enum { ANSWER_MOST = 1000, HOUR = 3600, DAY = 86400, NAME_LONGEST = 254 };

struct new_opts {
	const char *dir, *arguments, *wrap, *memory, *disk, *output_size, *hours, *days;
	struct conf_list inputs, outputs;
	int64_t quorum;
	bool large, no_ask, dry_run;
};

#define FIELD(name) offsetof(struct new_opts, name)
static const struct opt new_options[] = {
	{ "dir", OPT_TEXT, FIELD(dir), "DIR",
	    "Where to write; default: the current directory." },
	{ "input", OPT_TEXTS, FIELD(inputs), "NAME",
	    "Name under which the program opens an input file; may be repeated. Default: in; - for none." },
	{ "output", OPT_TEXTS, FIELD(outputs), "NAME",
	    "Name under which it writes an output file; may be repeated. Default: out." },
	{ "arguments", OPT_TEXT, FIELD(arguments), "TEXT",
	    "Its command line; %FROM%, %TO%, %PART% and %FILE% are replaced, see work_generator(8)." },
	{ "large", OPT_FLAG, FIELD(large), NULL,
	    "The first input is a large file, which stays on the hosts for further jobs." },
	{ "wrap", OPT_TEXT, FIELD(wrap), "PROGRAM",
	    "The program, which does not use BOINC's API: what comes next then says app add --wrap." },
	{ "hours", OPT_TEXT, FIELD(hours), "H",
	    "Usual runtime on one processor, in hours; default 1. May have a fraction." },
	{ "days", OPT_TEXT, FIELD(days), "D", "Days until the deadline; default 7." },
	{ "memory", OPT_TEXT, FIELD(memory), "SIZE",
	    "Memory that it needs, in bytes or as in 500M and 2G; default 500M." },
	{ "disk", OPT_TEXT, FIELD(disk), "SIZE",
	    "Disk space for inputs, outputs and temporary files; default 1G." },
	{ "output-size", OPT_TEXT, FIELD(output_size), "SIZE",
	    "The largest size of an output; larger ones fail the task. Default 100M." },
	{ "quorum", OPT_NUMBER, FIELD(quorum), "N",
	    "Number of results that must agree; default 2. 1: results are not compared." },
	{ "no-ask", OPT_FLAG, FIELD(no_ask), NULL, "Does not ask on a terminal." },
	DRY_RUN_OPTION(struct new_opts),
	{ 0 },
};
#undef FIELD

static const struct print_column new_columns[] = {
	{ "file", "FILE", PRINT_TEXT, NULL },
	{ "created", NULL, PRINT_FLAG, "false with --dry-run" },
	{ 0 },
};

struct draft { /* the templates to write */
	struct cmd_ctx *x;
	struct new_opts o;
	const char *app;
	double fpops, memory, disk, output_size, delay_s;
};

/* --- answers --- */

static void
ask_text(struct draft *d, const char *question, const char *otherwise, const char **to)
{
	char line[ANSWER_MOST], *answer;

	if (*to != NULL)
		return;
	fprintf(stderr, "%s [%s]: ", question, otherwise);
	if (fgets(line, sizeof(line), stdin) == NULL)
		return;
	answer = text_trim(line);
	if (answer[0] != '\0')
		*to = arena_strdup(d->x->a, answer);
}

static void
ask_names(
    struct draft *d, const char *question, const char *otherwise, struct conf_list *to)
{
	const char *answer = NULL;
	char *save = NULL, **v;

	if (to->n > 0)
		return;
	ask_text(d, question, otherwise, &answer);
	if (answer == NULL)
		return;
	v = NEWN(d->x->a, char *, strlen(answer) + 1);
	for (char *w = strtok_r(arena_strdup(d->x->a, answer), " ,\t", &save);
	     w != NULL; w = strtok_r(NULL, " ,\t", &save))
		v[to->n++] = w;
	to->v = v;
}

static enum err
ask_all(struct draft *d)
{
	const char *quorum = NULL, *api = "", *large = d->o.large ? "y" : NULL;

	if (d->o.no_ask || !isatty(STDIN_FILENO) || !isatty(STDERR_FILENO))
		return OK;
	fprintf(stderr, "Templates of the app %s; Enter takes what is in brackets.\n",
	    d->app);
	if (d->o.wrap == NULL)
		ask_text(d, "Program that does not use BOINC's API (empty if it does)",
		    "", &d->o.wrap);
	ask_names(d, "Names of the input files that it opens, - for none", "in",
	    &d->o.inputs);
	ask_text(
	    d, "Is the first one large, and used by many jobs? (y/n)", "n", &large);
	ask_names(d, "Names of the output files that it writes", "out", &d->o.outputs);
	ask_text(d, "Command line", "none", &d->o.arguments);
	ask_text(d, "Usual runtime on one processor, in hours", "1", &d->o.hours);
	ask_text(d, "Days until the deadline", "7", &d->o.days);
	ask_text(d, "Memory", "500M", &d->o.memory);
	ask_text(d, "Disk", "1G", &d->o.disk);
	ask_text(d, "Largest size of an output", "100M", &d->o.output_size);
	if (d->o.quorum == 0)
		ask_text(d, "Results that must agree", "2", &quorum);
	d->o.large = large != NULL && (large[0] == 'y' || large[0] == 'Y');
	if (d->o.wrap != NULL && strcmp(d->o.wrap, api) == 0)
		d->o.wrap = NULL;
	if (quorum != NULL && !text_i64(quorum, 1, 100, &d->o.quorum))
		return ctx_usage(
		    d->x, "\"%.40s\": the quorum must be 1 to 100", quorum);
	return OK;
}

/* --- checks --- */

static enum err
read_size(
    struct draft *d, const char *what, const char *text, double otherwise, double *v)
{
	static const struct {
		char letter;
		double factor;
	} units[] = { { 'k', 1e3 }, { 'K', 1e3 }, { 'M', 1e6 }, { 'G', 1e9 },
		{ 'T', 1e12 } };
	char *number, *last;
	double factor = 1;

	*v = otherwise;
	if (text == NULL)
		return OK;
	number = arena_strdup(d->x->a, text);
	last = number + strlen(number) - (number[0] == '\0' ? 0 : 1);
	if (last > number && *last == 'B')
		*last-- = '\0';
	for (size_t i = 0; i < N(units); i++)
		if (*last == units[i].letter) {
			factor = units[i].factor;
			*last = '\0';
			break;
		}
	if (!text_f64(text_trim(number), v) || !(*v > 0) || *v * factor > 1e15)
		return ctx_usage(d->x,
		    "%s \"%.40s\": a size above 0, such as 500M or 2G", what, text);
	*v *= factor;
	return OK;
}

static enum err
read_time(
    struct draft *d, const char *what, const char *text, double otherwise, double *v)
{
	*v = otherwise;
	if (text == NULL || (text_f64(text, v) && *v > 0 && *v <= 10000))
		return OK;
	return ctx_usage(d->x, "%s \"%.40s\": a number above 0", what, text);
}

static enum err
check_open_names(struct draft *d, const struct conf_list *l)
{
	for (size_t i = 0; i < l->n; i++) {
		const char *v = l->v[i];

		if (v[0] == '\0' || v[0] == '/' || strstr(v, "..") != NULL ||
		    strpbrk(v, "%<>&\"") != NULL || strlen(v) > NAME_LONGEST)
			return ctx_usage(d->x,
			    "\"%.60s\": clients take no path from the root, no \"..\" and none of %% < > & as the name of a file",
			    v);
		for (size_t k = 0; k < i; k++)
			if (strcmp(v, l->v[k]) == 0)
				return ctx_usage(d->x, "two files are called %s", v);
	}
	return OK;
}

static enum err
check_app(struct draft *d)
{
	const char *v = d->app;

	if (v[0] != '\0' && v[0] != '.' && v[0] != '-' && strlen(v) < NAME_LONGEST &&
	    strspn(v,
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.") ==
		strlen(v))
		return OK;
	return ctx_usage(
	    d->x, "\"%.60s\" cannot be an app's name: letters, digits and _ - .", v);
}

static enum err
read_answers(struct draft *d)
{
	static char in_name[] = "in", out_name[] = "out";
	static char *in[] = { in_name }, *out[] = { out_name };
	double hours, days;

	if (d->o.inputs.n == 0)
		d->o.inputs = (struct conf_list){ in, 1 };
	else if (d->o.inputs.n == 1 && strcmp(d->o.inputs.v[0], "-") == 0)
		d->o.inputs = (struct conf_list){ NULL, 0 };
	if (d->o.outputs.n == 0)
		d->o.outputs = (struct conf_list){ out, 1 };
	if (d->o.quorum == 0)
		d->o.quorum = 2;
	if (d->o.quorum > 100)
		return ctx_usage(d->x, "--quorum must be at most 100");
	if (d->o.large && d->o.inputs.n == 0)
		return ctx_usage(d->x, "--large: there is no input file");
	TRY(check_app(d));
	TRY(check_open_names(d, &d->o.inputs));
	TRY(check_open_names(d, &d->o.outputs));
	TRY(read_time(d, "--hours", d->o.hours, 1, &hours));
	TRY(read_time(d, "--days", d->o.days, 7, &days));
	TRY(read_size(d, "--memory", d->o.memory, 5e8, &d->memory));
	TRY(read_size(d, "--disk", d->o.disk, 1e9, &d->disk));
	TRY(read_size(d, "--output-size", d->o.output_size, 1e8, &d->output_size));
	d->fpops = hours * HOUR * USUAL_FLOPS;
	d->delay_s = days * DAY;
	return OK;
}

/* --- texts --- */

static char *
draft_input(struct draft *d)
{
	struct buf b = buf_new(d->x->a);
	const struct new_opts *o = &d->o;

	buf_printf(&b,
	    "<!-- What a workunit of %s is. locus-template(5) explains every element; after a\n     change: locus template check %s_in.xml %s_out.xml -->\n<input_template>\n",
	    d->app, d->app, d->app);
	for (size_t i = 0; i < o->inputs.n; i++)
		buf_puts(&b,
		    o->large && i == 0 ?
			"<file_info>\n    <!-- A large file: it stays on the hosts and on the server for further jobs. -->\n    <sticky/>\n    <no_delete/>\n    <report_on_rpc/>\n</file_info>\n" :
			"<file_info>\n    <!-- For a file that hosts should keep for other workunits: <sticky/>, and <no_delete/> -->\n</file_info>\n");
	buf_puts(&b, "<workunit>\n");
	for (size_t i = 0; i < o->inputs.n; i++) {
		buf_printf(&b,
		    "    <file_ref>\n        <!-- Name under which the program opens it; without copy_file only programs that\n             use BOINC's API find it. -->\n        <open_name>%s</open_name>\n        <copy_file/>\n    </file_ref>\n",
		    o->inputs.v[i]);
	}
	if (o->arguments != NULL) {
		buf_puts(&b, "    <command_line>");
		buf_xml_plain(&b, o->arguments);
		buf_puts(&b, "</command_line>\n");
	} else {
		buf_puts(&b,
		    "    <!-- <command_line>arguments of the program</command_line> -->\n");
	}
	buf_printf(&b,
	    "    <!-- Operations of a task: the usual runtime in seconds times 4e9. Clients stop a task\n         at the bound. -->\n"
	    "    <rsc_fpops_est>%.6g</rsc_fpops_est>\n    <rsc_fpops_bound>%.6g</rsc_fpops_bound>\n"
	    "    <!-- Bytes of memory and disk: hosts with less get no job, and clients stop a task that\n         needs more disk. -->\n"
	    "    <rsc_memory_bound>%.6g</rsc_memory_bound>\n    <rsc_disk_bound>%.6g</rsc_disk_bound>\n"
	    "    <!-- Seconds until the deadline; then another host gets the task. -->\n"
	    "    <delay_bound>%.0f</delay_bound>\n"
	    "    <!-- So many results must agree; so many are made at first. -->\n"
	    "    <min_quorum>%lld</min_quorum>\n    <target_nresults>%lld</target_nresults>\n",
	    d->fpops, 24 * d->fpops, d->memory, d->disk, d->delay_s,
	    (long long)o->quorum, (long long)o->quorum);
	buf_puts(&b,
	    "    <!-- After more errors, or more results, the workunit is given up; defaults: 3 and 10. -->\n    <max_error_results>3</max_error_results>\n</workunit>\n</input_template>\n");
	return b.p;
}

static char *
draft_output(struct draft *d)
{
	struct buf b = buf_new(d->x->a);
	const struct conf_list *l = &d->o.outputs;

	buf_printf(&b,
	    "<!-- What a result of %s uploads; see locus-template(5). -->\n<output_template>\n",
	    d->app);
	for (size_t i = 0; i < l->n; i++)
		buf_printf(&b,
		    "<file_info>\n    <name><OUTFILE_%zu/></name>\n    <!-- Bytes; a larger file fails the task. -->\n    <max_nbytes>%.0f</max_nbytes>\n    <url><UPLOAD_URL/></url>\n</file_info>\n",
		    i, d->output_size);
	buf_puts(&b, "<result>\n");
	for (size_t i = 0; i < l->n; i++)
		buf_printf(&b,
		    "    <file_ref>\n        <file_name><OUTFILE_%zu/></file_name>\n        <!-- Name under which the program writes it. If it may be missing: <optional/> -->\n        <open_name>%s</open_name>\n        <copy_file/>\n    </file_ref>\n",
		    i, l->v[i]);
	buf_puts(&b, "</result>\n</output_template>\n");
	return b.p;
}

/* --- files --- */

static enum err
write_file(struct draft *d, struct print *l, const char *name, const char *text)
{
	struct cmd_ctx *x = d->x;
	const char *dir = d->o.dir == NULL ? "." : d->o.dir;
	const char *path = strcmp(dir, ".") == 0 ?
	                       name :
	                       arena_printf(x->a, "%s/%s", dir, name);

	if (!fs_exists(dir))
		return FAIL(x->f, E_SYS, "there is no directory %s", dir);
	TRY(fs_check_change(path, x->f));
	if (!d->o.dry_run)
		TRY(fs_write(path, text, strlen(text), 0644, x->f));
	if (x->format == FORMAT_TABLE) {
		ctx_progress(x, d->o.dry_run ? "would write" : "created", "%s", path);
		return OK;
	}
	print_cells(l, path, !d->o.dry_run);
	return OK;
}

static enum err
check_absent(struct draft *d, const char *name)
{
	const char *path = d->o.dir == NULL ?
	                       name :
	                       arena_printf(d->x->a, "%s/%s", d->o.dir, name);

	if (!fs_exists(path))
		return OK;
	return FAIL(d->x->f, E_BADREQ,
	    "%s exists; remove it, or give another directory with --dir", path);
}

static void
print_next(struct draft *d)
{
	const char *app = d->app, *wrap = d->o.wrap;

	if (d->x->format != FORMAT_TABLE || d->o.dry_run)
		return;
	printf(
	    "next      edit them; then\n"
	    "            locus template check %s_in.xml %s_out.xml\n"
	    "            locus app add %s%s%s --input-template %s_in.xml --output-template %s_out.xml%s --validator%s --assimilator=\"--copy-to results\"\n",
	    app, app, app, wrap == NULL ? "" : " --wrap --program ",
	    wrap == NULL ? "" : wrap, app, app, d->o.large ? "" : " --locality none",
	    d->o.quorum > 1 ? "" : "=\"--command true\"");
}

static enum err
write_drafts(struct draft *d)
{
	struct cmd_ctx *x = d->x;
	const char *in = arena_printf(x->a, "%s_in.xml", d->app);
	const char *out = arena_printf(x->a, "%s_out.xml", d->app);
	const char *input = draft_input(d), *output = draft_output(d);
	struct print *l;

	TRY(check_absent(d, in));
	TRY(check_absent(d, out));
	TRY(template_check_in(x, in, input, d->o.large ? LARGE_FIRST : LARGE_NONE));
	TRY(template_check_out(x, out, output));
	l = print_list(x, new_columns);
	TRY(write_file(d, l, in, input));
	TRY(write_file(d, l, out, output));
	print_end(l);
	print_next(d);
	return OK;
}

static enum err
template_new_run(struct cmd_ctx *x, const void *opts, char **args, size_t n)
{
	struct draft d = {
		.x = x, .o = *(const struct new_opts *)opts, .app = args[0]
	};

	(void)n;
	TRY(ask_all(&d));
	TRY(read_answers(&d));
	TRY(owner_enter_place(
	    x->a, d.o.dir == NULL ? "." : d.o.dir, false, &x->owner, x->f));
	return write_drafts(&d);
}

const struct cmd cmd_template_new = { .name = "template new",
	.args = "APP",
	.min_args = 1,
	.max_args = 1,
	.purpose = "write a pair of templates",
	.about =
	    "Writes APP_in.xml and APP_out.xml, with comments, from options, or from answers on a\n"
	    "terminal, and prints the commands that come next; a program that knows nothing of\n"
	    "BOINC is run by a wrapper, app add --wrap. They pass template check as they are. Needs\n"
	    "no project; replaces no file.",
	.opts = new_options,
	.opts_size = sizeof(struct new_opts),
	.columns = new_columns,
	.run = template_new_run };
