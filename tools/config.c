/* SPDX-License-Identifier: Apache-2.0 */
/* locus config sample and man. */
#include "tools/cmd.h"
#include "lib/banned.h"

static enum err
config_sample_run(struct cmd_ctx *x, const void *opts, char **args, size_t n)
{
	(void)x, (void)opts, (void)args, (void)n;
	conf_print_sample();
	return OK;
}

const struct cmd cmd_config_sample = { .name = "config sample",
	.args = "",
	.purpose = "print a config.xml with all options",
	.about =
	    "Prints a config.xml with every option at its default, and an explanation of each.",
	.run = config_sample_run };

static enum err
config_man_run(struct cmd_ctx *x, const void *opts, char **args, size_t n)
{
	(void)x, (void)opts, (void)args, (void)n;
	conf_print_man();
	return OK;
}

const struct cmd cmd_config_man = { .name = "config man",
	.args = "",
	.purpose = "print the manual page config.xml(5)",
	.about = "Prints the manual page of config.xml.",
	.run = config_man_run };
