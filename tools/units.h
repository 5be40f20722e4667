/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The units by which systemd runs an installed project: locus-NAME.target, which all
 * others belong to, the template locus-NAME@.service with the name of a service as its
 * instance, a socket for each program that the web server reaches, and a timer for each
 * task. All of them follow from config.xml.
 */
#ifndef TOOLS_UNITS_H
#define TOOLS_UNITS_H

#include <stdbool.h>
#include "lib/arena.h"
#include "lib/err.h"
#include "model/conf.h"
#include "tools/service.h"

#define UNITS_DIR "/etc/systemd/system"

struct unit_file {
	char *name; /* below UNITS_DIR: "locus-stars@.service" */
	char *text;
};

struct unit_names {   /* of one project */
	char *target; /* "locus-stars.target" */
	char **services, **sockets, **timers;
	size_t nservices, nsockets, ntimers;
};

/*
 * Makes the texts of all unit files; program is the path of locus. E_CONFIG if
 * config.xml does not say which services there are.
 */
enum err units_texts(struct arena *, const struct conf *, const char *program,
    struct unit_file **, size_t *n, struct fail *);
/* Lists the units that shall run. */
enum err units_names(
    struct arena *, const struct conf *, struct unit_names *, struct fail *);

/* Returns the unit's instance that stands for a service or task: its name with bytes
 * that unit names cannot have as \xNN. */
char *units_instance(struct arena *, const char *name);
/* Returns "locus-stars@scheduler.service". */
char *units_service(struct arena *, const struct conf *, const char *service);
/* Returns "locus-stars@scheduler.socket". */
char *units_socket(struct arena *, const struct conf *, const char *socket_name);

struct units_change {
	size_t written, removed; /* files */
	bool first;              /* the project had no target before */
};

/*
 * Makes dir hold these files: writes what differs, and removes those of the project
 * that carry our mark and are not among them. Called with UNITS_DIR by units_sync().
 */
enum err units_write(struct arena *, const char *dir, const char *name,
    const struct unit_file *, size_t n, struct units_change *, struct fail *);
/* True if dir lacks any of the project's units or holds another text of one. */
bool units_differ(struct arena *, const struct conf *, const char *dir);

/*
 * Makes the units of this machine those of config.xml, and lets systemd reread them if
 * it runs. Services, sockets and timers that are no longer wanted are stopped. Enables
 * the target when it is new, so that an admin may disable it. Only for root.
 * E_CONFIG: this Locus was built without libsystemd.
 */
enum err units_sync(
    struct arena *, const struct conf *, struct units_change *, struct fail *);
/* Stops and removes all units of the project of this name; none is OK. Only for root.
 */
enum err units_remove(struct arena *, const char *name, struct fail *);

#endif
