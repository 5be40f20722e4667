/* SPDX-License-Identifier: Apache-2.0 */
#include "sched/upload/upload_options.h"

#include <getopt.h>
#include <stdio.h>
#include "config.h"
#include "lib/banned.h"

static const char usage_text[] =
    "usage: file_upload_handler [--project DIR] [--socket PATH] [--log PATH]\n"
    "\n"
    "  -s, --socket PATH  unix socket to listen on (run_dir/upload.sock)\n"
    "  -l, --log PATH     log file (standard error)\n"
    "  -p, --project DIR\n"
    "  -h, --help\n"
    "  -V, --version\n";

static const struct option longopts[] = {
	{ "socket", required_argument, NULL, 's' },
	{ "log", required_argument, NULL, 'l' },
	{ "project", required_argument, NULL, 'p' },
	{ "help", no_argument, NULL, 'h' },
	{ "version", no_argument, NULL, 'V' },
	{ NULL, 0, NULL, 0 },
};

int
upload_options(int argc, char **argv, struct upload_options *o)
{
	int c;

	while ((c = getopt_long(argc, argv, "s:l:p:hV", longopts, NULL)) != -1) {
		switch (c) {
		case 's':
			o->socket = optarg;
			break;
		case 'l':
			o->log = optarg;
			break;
		case 'p':
			o->project = optarg;
			break;
		case 'h':
			fputs(usage_text, stdout);
			return 0;
		case 'V':
			printf("file_upload_handler (%s) %s\n", PACKAGE_NAME,
			    PACKAGE_VERSION);
			return 0;
		default:
			fputs(usage_text, stderr);
			return 2;
		}
	}
	if (optind < argc) {
		fputs(usage_text, stderr);
		return 2;
	}
	return -1;
}
