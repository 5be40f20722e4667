/* SPDX-License-Identifier: Apache-2.0 */
/*
 * HTML for people: escaping, the frame of a page, the home page from its template, and
 * the status page.
 */
#ifndef SCHED_WEB_WEB_PAGE_H
#define SCHED_WEB_WEB_PAGE_H

#include <stdbool.h>
#include "db/project.h"
#include "lib/buf.h"
#include "model/conf.h"
#include "model/rows.h"

/*
 * Writes text escaped for HTML, as element text or attribute value. All outside text
 * goes through it.
 */
void html_put(struct buf *, const char *text);

/*
 * Fills a template: replaces @NAME@ with the value of that name, escaped unless raw;
 * unknown names stay.
 */
struct html_value {
	const char *name, *value;
	bool raw; /* the value is our own HTML */
};
void html_fill(struct buf *, const char *template, const struct html_value *, size_t n);

/* The frame of a page; the title is also its h1. */
void page_begin(struct buf *, const struct conf *, const char *title);
void page_end(struct buf *);

/*
 * The home page, which is also the master page (protocol.md 7.5). template NULL: a
 * plain page. Scheduler URLs are included in both forms, whatever the template says.
 */
void page_home(struct buf *, const struct conf *, const char *template);

/* The status page. s NULL: the database is not available. now: when s was counted. */
void page_status(
    struct buf *, const struct conf *, const struct status *s, int64_t now);
void page_status_xml(
    struct buf *, const struct conf *, const struct status *s, int64_t now);
void page_status_json(
    struct buf *, const struct conf *, const struct status *s, int64_t now);

/* The public page of an account. */
void page_user(struct buf *, const struct conf *, const struct user_info *);

/* A page with a title and one sentence. */
void page_message(
    struct buf *, const struct conf *, const char *title, const char *text);

#endif
