/* SPDX-License-Identifier: Apache-2.0 */
/* Predicts work that an app's generator has yet to make. */
#ifndef PROTO_NEW_WORK_H
#define PROTO_NEW_WORK_H

#include "model/conf.h"

/*
 * Returns the number of results with which each new workunit of the app begins, unless
 * the app replicates adaptively: target_nresults of its input template. That template
 * is the one of the app's work_generator in config.xml, else templates/APP_in.xml. 0 if
 * it cannot be read.
 */
int32_t new_work_results(struct arena *, const struct conf *, const char *app);
/*
 * The value of an option in the command line of an app's daemon in config.xml, such as
 * "copy_to" of its assimilator; NULL if the app has no such daemon, or it lacks the
 * option.
 */
const char *daemon_option(struct arena *, const struct conf *, const char *program,
    const char *app, const char *option);

#endif
