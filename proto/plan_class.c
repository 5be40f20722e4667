/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads plan_class_spec.xml by the table of elements. A remark names file, line,
 * element and remedy; a mistake costs its element, seldom its class, never the others.
 */
#include "proto/plan_class.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "lib/fs.h"
#include "lib/text.h"
#include "lib/xml.h"
#include "lib/banned.h"

extern const char plan_class_sample[]; /* made from tools/plan_class_spec.xml */

enum {
	FILE_MOST = 4 << 20,
	CLASSES_MOST = 10000,
	WORDS_MOST = 100,
	REMARKS_MOST = 1000
};

struct class_reader { /* the file being read */
	struct arena *a;
	struct plan_classes *all;
	size_t cap;
	struct pc_remark *remarks;
	size_t nremarks, remarks_cap;
	struct plan_class *now; /* the class being read, or NULL */
	bool out;               /* the class is invalid */
	bool *seen;             /* by element of the table: occurred in the class */
};

enum loss { NOTHING, ELEMENT, CLASS };

static void class_remark(
    struct class_reader *r, const struct xml_node *at, enum loss loss, char *text)
{
	if (loss == CLASS)
		r->out = true;
	if (r->nremarks == REMARKS_MOST)
		return;
	PUSH(r->a, r->remarks, r->nremarks,
	    r->remarks_cap) = (struct pc_remark){ .line = at->line,
		.lost = loss != NOTHING,
		.out = loss == CLASS,
		.class = r->now == NULL ? arena_strdup(r->a, "") : r->now->name,
		.text = text };
}

/* --- values: each function returns what is wrong, or NULL --- */

/* "7.0.12" is 70012, "2.31" is 23100; a number without a point is used as it is. */
static const char *class_version(const char *text, double *x)
{
	static const char wrong[] = "it must be a version such as 70012 or 7.0.12";
	static const double weight[] = { 10000, 100, 1 };
	char *end;

	if (strchr(text, '.') == NULL)
		return text_f64(text, x) ? NULL : wrong;
	*x = 0;
	for (size_t i = 0; i < N(weight); i++, text = end + 1) {
		unsigned long part = strtoul(text, &end, 10);

		if (!(*text >= '0' && *text <= '9') || part > (i == 0 ? 9999 : 99))
			return "it must be M.m or M.m.R, the parts after the first 0 to 99";
		*x += weight[i] * (double)part;
		if (*end == '\0')
			return NULL;
		if (*end != '.')
			break;
	}
	return wrong;
}

static const char *class_number(
    struct arena *a, const struct field *el, const char *text, double *x)
{
	if (el->value[0] == 'V') { /* VERSION, VERSIONS */
		const char *why = class_version(text, x);

		if (why != NULL)
			return why;
	} else if (!text_f64(text, x)) {
		return strchr(text, ',') == NULL ?
		           "it must be a number" :
		           "it must be a number, with a decimal point, not a comma";
	}
	if (!field_within(el, *x))
		return arena_printf(a, "it must be %g to %g", el->min, el->max);
	return el->type != FIELD_F64 && *x != floor(*x) ? "it must be a whole number" :
	                                                  NULL;
}

static const char *add_number(
    struct arena *a, struct number_list *list, const char *why, double x)
{
	int64_t *grown;

	if (list->n == WORDS_MOST)
		return "it occurs too often";
	if (why != NULL)
		return why;
	grown = NEWN(a, int64_t, list->n + 1);
	if (list->n > 0)
		memcpy(grown, list->v, list->n * sizeof(*grown));
	grown[list->n] = (int64_t)x;
	*list = (struct number_list){ grown, list->n + 1 };
	return NULL;
}

static const char *class_text(
    struct arena *a, const struct field *el, const char *text, struct plan_class *pc)
{
	const struct text_list *list = (const void *)((const char *)pc + el->off);

	if ((double)strlen(text) > el->max)
		return arena_printf(a, "it is longer than %.0f bytes", el->max);
	if (el->type == FIELD_LIST && text[0] == '\0')
		return "it is empty";
	if (el->type == FIELD_LIST && list->n == WORDS_MOST)
		return "it occurs too often";
	return field_set(a, el, pc, arena_strdup(a, text));
}

static const char *set_value(
    struct arena *a, const struct field *el, const char *text, struct plan_class *pc)
{
	void *member = (char *)pc + el->off;
	const char *why = NULL;
	double x = 1;

	switch (el->type) {
	case FIELD_TEXT:
	case FIELD_LIST:
		return class_text(a, el, text, pc);
	case FIELD_PATTERN:
		*(const struct pattern **)member = pattern_compile(a, text, &why);
		return why;
	case FIELD_FLAG:
		if (text[0] != '\0' && !text_f64(text, &x)) /* <name/> is true */
			return "it must be empty, 0 or 1";
		field_put_whole(el, pc, x != 0);
		return NULL;
	case FIELD_NUMBERS:
		why = class_number(a, el, text, &x);
		return add_number(a, member, why, x);
	default:
		why = class_number(a, el, text, &x);
		if (why == NULL)
			field_put_number(el, pc, x);
		return why;
	}
}

static bool is_repeatable(const struct field *el)
{
	return el->type == FIELD_LIST || el->type == FIELD_NUMBERS;
}

/* --- one class --- */

static void read_element(struct class_reader *r, const struct xml_node *n)
{
	const char *near, *why;
	enum loss loss;
	const struct field *el = field_find(pc_elements, n->name, false, &near);

	if (el == NULL) {
		class_remark(r, n, NOTHING,
		    near == NULL ?
			arena_printf(
			    r->a, "<%.60s> is unknown and has no effect", n->name) :
			arena_printf(r->a,
			    "<%.60s> is unknown and has no effect; did you mean <%s>?",
			    n->name, near));
		return;
	}
	if (r->seen[el - pc_elements] && !is_repeatable(el))
		class_remark(r, n, NOTHING,
		    arena_printf(
			r->a, "<%s> is repeated; the last one counts", el->name));
	r->seen[el - pc_elements] = true;
	if (n->unclosed) {
		class_remark(r, n, ELEMENT,
		    arena_printf(
			r->a, "<%s> has no end tag: it is left out", el->name));
		return;
	}
	/* without its expression, a class would fit any computer */
	loss = el->type == FIELD_PATTERN ? CLASS : ELEMENT;
	why = set_value(r->a, el, n->text, r->now);
	if (why != NULL)
		class_remark(r, n, loss,
		    arena_printf(r->a, "<%s>: \"%.60s\": %s%s", el->name, n->text, why,
			loss == ELEMENT ? "; it is left out" : ""));
}

static const char *class_name_fault(const struct class_reader *r, const char *name)
{
	if (name[0] == '\0')
		return "a <plan_class> needs a <name>";
	if (strspn(name,
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.") !=
	    strlen(name))
		return "its name may have only letters, digits and _ - .";
	if (plan_class_named(r->all, name) != NULL)
		return "an earlier class has the same name";
	return NULL;
}

/* Clients infer what a class needs from its name (protocol.md 2.4). */
static void compare_with_name(struct class_reader *r, const struct xml_node *n)
{
	const struct plan_class *pc = r->now;
	const struct {
		const char *part;
		bool asked, may; /* the class needs it; the name may say so */
		const char *what;
	} parts[] = {
		{ "opencl", pc->opencl, pc->opencl, "OpenCL" },
		{ "cuda", pc->cuda, pc->cuda, "CUDA" },
		/* "opencl_ati" names the vendor */
		{ "ati", pc->cal, pc->cal || pc->opencl, "CAL" },
		{ "vbox", pc->virtualbox, pc->virtualbox, "VirtualBox" },
		{ "docker", pc->docker, pc->docker, "Docker" },
		{ "wsl", pc->wsl, pc->wsl, "WSL" },
	};

	for (size_t i = 0; i < N(parts); i++) {
		bool said = strstr(pc->name, parts[i].part) != NULL;

		if (said && !parts[i].may)
			class_remark(r, n, NOTHING,
			    arena_printf(r->a,
				"clients assume that it needs %s, because of \"%s\" in its name; rename it, or state the need",
				parts[i].what, parts[i].part));
		else if (!said && parts[i].asked)
			class_remark(r, n, NOTHING,
			    arena_printf(r->a,
				"clients recognise only by \"%s\" in the name that a class needs %s; rename it",
				parts[i].part, parts[i].what));
	}
}

/*
 * Demands on a device are mistakes in a class that uses none: no processor meets them.
 */
static void compare_with_type(struct class_reader *r, const struct xml_node *n)
{
	size_t from = offsetof(struct plan_class, ngpus),
	       to = offsetof(struct plan_class, min_opencl_version);

	if (strcmp(plan_class_type(r->now), "CPU") != 0)
		return;
	for (size_t i = 0; i < pc_nelements; i++)
		if (r->seen[i] && pc_elements[i].off >= from &&
		    pc_elements[i].off < to &&
		    strcmp(pc_elements[i].name, "opencl") != 0)
			class_remark(r, n, NOTHING,
			    arena_printf(r->a,
				"<%s> is about a coprocessor, but without <gpu_type> the class uses the processor",
				pc_elements[i].name));
}

/* A minimum above its maximum fits no host. */
static void compare_limits(struct class_reader *r, const struct xml_node *n)
{
	for (size_t i = 0; i + 1 < pc_nelements; i++) {
		const struct field *lo = &pc_elements[i], *hi = lo + 1;
		double x, y;

		if (strncmp(lo->name, "min_", 4) != 0 ||
		    strncmp(hi->name, "max_", 4) != 0 ||
		    strcmp(lo->name + 4, hi->name + 4) != 0 || !r->seen[i + 1])
			continue;
		x = field_number(lo, r->now);
		y = field_number(hi, r->now);
		if (x > y && y > 0)
			class_remark(r, n, NOTHING,
			    arena_printf(r->a, "<%s> is above <%s>: it fits no host",
				lo->name, hi->name));
	}
}

static void read_class(struct class_reader *r, const struct xml_node *n)
{
	const struct xml_node *found = NULL;

	/* Returns the last such child, which is the one that counts. */
	for (const struct xml_node *c = n->child; c != NULL; c = c->next)
		if (strcmp(c->name, "name") == 0 && !c->unclosed)
			found = c;
	const struct xml_node *name = found;
	const char *fault;
	struct plan_class *pc = NEW(r->a, struct plan_class);

	r->now = pc;
	r->out = false;
	memset(r->seen, 0, pc_nelements * sizeof(*r->seen));
	for (size_t i = 0; i < pc_nelements; i++)
		if (!is_repeatable(&pc_elements[i]) &&
		    pc_elements[i].type != FIELD_PATTERN)
			set_value(r->a, &pc_elements[i], pc_elements[i].def, pc);
	if (name != NULL && strlen(name->text) <= 63)
		pc->name = name->text; /* for remarks on elements before the name */
	fault = class_name_fault(r, pc->name);
	if (fault != NULL)
		class_remark(
		    r, name == NULL ? n : name, CLASS, arena_strdup(r->a, fault));
	for (const struct xml_node *c = n->child; c != NULL; c = c->next)
		read_element(r, c);
	if (!r->out) {
		compare_with_name(r, n);
		compare_with_type(r, n);
		compare_limits(r, n);
		PUSH(r->a, r->all->classes, r->all->n, r->cap) = *pc;
	}
	r->now = NULL;
}

/* --- the file --- */

static const char *const containers[] = { "plan_classes", "plan_class", NULL };

static void read_classes(struct class_reader *r, const struct xml_node *root)
{
	for (const struct xml_node *c = root->child; c != NULL; c = c->next) {
		if (strcmp(c->name, "plan_class") != 0) {
			class_remark(r, c, NOTHING,
			    arena_printf(r->a,
				"<%.60s> is unknown and has no effect; only <plan_class> elements are allowed",
				c->name));
			continue;
		}
		if (c->unclosed)
			class_remark(r, c, ELEMENT,
			    arena_strdup(r->a,
				"<plan_class> has no end tag: it ends where the next one begins"));
		if (r->all->n < CLASSES_MOST)
			read_class(r, c);
	}
}

enum err plan_classes_parse(struct arena *a, const char *path, const char *text,
    size_t n, struct plan_classes **out, struct pc_remark **remarks, size_t *nremarks,
    struct fail *f)
{
	struct class_reader r = { .a = a,
		.all = NEW(a, struct plan_classes),
		.seen = NEWN(a, bool, pc_nelements) };
	struct xml_mistakes bad;
	struct xml_node *root;

	*out = r.all;
	*remarks = NULL;
	*nremarks = 0;
	TRY(xml_tree_lenient(
	    a, path, (struct xml_source){ text, n, containers }, &root, &bad, f));
	if (strcmp(root->name, "plan_classes") != 0 && bad.cause != NULL)
		return FAIL(f, E_CONFIG, "%s", bad.cause);
	if (strcmp(root->name, "plan_classes") != 0)
		return FAIL(f, E_CONFIG,
		    "%s:%d: the root element must be <plan_classes>, not <%.60s>", path,
		    root->line, root->name);
	for (size_t i = 0; i < bad.n; i++)
		class_remark(&r, &(struct xml_node){ .line = bad.v[i].line }, ELEMENT,
		    bad.v[i].text);
	if (root->unclosed)
		class_remark(&r, root, ELEMENT,
		    arena_strdup(a, "<plan_classes> has no end tag"));
	read_classes(&r, root);
	*remarks = r.remarks;
	*nremarks = r.nremarks;
	return OK;
}

struct plan_classes *plan_classes_built_in(struct arena *a)
{
	struct fail f = { 0 };
	struct plan_classes *all;
	struct pc_remark *remarks;
	size_t n;
	enum err e = plan_classes_parse(a, PLAN_CLASS_FILE, plan_class_sample,
	    strlen(plan_class_sample), &all, &remarks, &n, &f);

	assert(e == OK && n == 0); /* else the sample has mistakes */
	all->built_in = true;
	return all;
}

enum err plan_classes_load(struct arena *a, const char *path, struct plan_classes **out,
    struct pc_remark **remarks, size_t *nremarks, struct fail *f)
{
	char *text;
	size_t n;
	enum err e = fs_read(a, path, FILE_MOST, &text, &n, f);

	*out = NEW(a, struct plan_classes);
	*remarks = NULL;
	*nremarks = 0;
	if (e == E_NOTFOUND) {
		*f = (struct fail){ 0 };
		*out = plan_classes_built_in(a);
		return OK;
	}
	return e != OK ?
	           e :
	           plan_classes_parse(a, path, text, n, out, remarks, nremarks, f);
}
