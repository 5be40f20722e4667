/* SPDX-License-Identifier: Apache-2.0 */
/* What work of an app will be like that its generator has still to make. */
#ifndef PROTO_NEW_WORK_H
#define PROTO_NEW_WORK_H

#include "model/conf.h"

/*
 * Results with which each new workunit of the app begins, unless the app replicates
 * adaptively: target_nresults of its input template, which is that of a work_generator
 * of the app in config.xml, else templates/APP_in.xml.  0 if it cannot be read.
 */
int32_t new_work_results(struct arena *, const struct conf *, const char *app);

#endif
