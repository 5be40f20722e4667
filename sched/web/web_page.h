/* SPDX-License-Identifier: Apache-2.0 */
/* HTML for people: escaping, the frame of a page, the home page from its template, the
 * status page. */
#ifndef SCHED_WEB_WEB_PAGE_H
#define SCHED_WEB_WEB_PAGE_H

#include <stdbool.h>
#include "db/status.h"
#include "lib/buf.h"
#include "model/conf.h"
#include "model/rows.h"

/* The one way of text from anywhere into HTML, element text and attribute values alike.
 */
void html_put(struct buf *, const char *text);

/*
 * Puts values into template: @NAME@ by the value of that name, escaped unless raw;
 * unknown names stay.
 */
struct html_value {
	const char *name, *value;
	bool raw; /* the value is HTML of our own */
};
void html_fill(struct buf *, const char *template, const struct html_value *, size_t n);

/* Frame of a page; title is also its h1. */
void page_begin(struct buf *, const struct conf *, const char *title);
void page_end(struct buf *);

/*
 * The home page, which is the master page too (protocol.md 7.5): template NULL = a
 * plain one.  Scheduler URLs are there in both spellings, whatever the template says.
 */
void page_home(struct buf *, const struct conf *, const char *template);

/* s NULL: the database is not available.  now: when it was counted. */
void page_status(
    struct buf *, const struct conf *, const struct status *s, int64_t now);
void page_status_xml(
    struct buf *, const struct conf *, const struct status *s, int64_t now);

/* What everyone may know of an account. */
void page_user(struct buf *, const struct conf *, const struct user_info *);

/* A page with one sentence. */
void page_message(
    struct buf *, const struct conf *, const char *title, const char *text);

#endif
