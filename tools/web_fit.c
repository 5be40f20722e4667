/* SPDX-License-Identifier: Apache-2.0 */
/* Apache's configuration is written once; sockets follow run_dir and db_socket. */
#include "tools/web_fit.h"

#include <stdio.h>
#include <string.h>
#include "lib/fs.h"
#include "tools/service.h"
#include "lib/banned.h"

enum { FILE_MAX = 1 << 20 };

static void
check_file(struct ctx *x, const struct conf *cf, const char *path, const char *text)
{
	static const char *const services[] = { "scheduler", "web", "upload" };

	for (size_t i = 0; i < N(services); i++) {
		const char *socket = service_socket(x->a, cf, services[i]);

		if (strstr(text, arena_printf(x->a, "\"unix:%s|", socket)) == NULL)
			printf("%s: warning: no ProxyPass leads to unix:%s, where the "
			       "project listens\n",
			    path, socket);
	}
}

void
web_fit_check(struct ctx *x, const struct conf *cf)
{
	static const char *const files[] = { "apache/httpd.conf", "apache/site.conf" };

	for (size_t i = 0; i < N(files); i++) {
		const char *path = project_path(x->a, cf, files[i]);
		struct fail f = { 0 };
		char *text;
		enum err e = fs_read(x->a, path, FILE_MAX, &text, NULL, &f);

		if (e == OK)
			check_file(x, cf, path, text);
		else if (e != E_NOTFOUND)
			printf("%s: warning: %s\n", path, f.detail);
	}
}
