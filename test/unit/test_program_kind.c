/* SPDX-License-Identifier: Apache-2.0 */
/* Which files hosts of a platform can start. */
#include "tools/program.h"

#include <string.h>
#include "lib/fs.h"
#include "test/unit/unit.h"
#include "lib/banned.h"

#define ELF(machine)                                                                   \
	"\x7f"                                                                         \
	"ELF\2\1\1\0\0\0\0\0\0\0\0\0\2\0" machine "\0\1\0\0\0"
#define PE(machine)                                                                    \
	"MZ**********************************************************\x40\0\0\0PE\0\0" machine

static const struct {
	const char *what, *head;
	size_t n;
	const char *platform, *why; /* "" = it fits */
} kinds[] = {
#define KIND(what, head, platform, why) { what, head, sizeof(head) - 1, platform, why },
	KIND("its own", ELF("\x3e"), "x86_64-pc-linux-gnu", "") KIND(
	    "another processor", ELF("\xb7"), "x86_64-pc-linux-gnu",
	    "a program for arm64") KIND("the other way round", ELF("\x3e"),
	    "aarch64-unknown-linux-gnu", "a program for x86_64") KIND("arm on arm",
	    ELF("\xb7"), "aarch64-unknown-linux-gnu", "") KIND("32 bits on 64",
	    ELF("\x03"), "x86_64-pc-linux-gnu", "") KIND("64 bits on 32", ELF("\x3e"),
	    "i686-pc-linux-gnu", "a program for x86_64") KIND("android", ELF("\xb7"),
	    "aarch64-android-linux-gnu",
	    "") KIND("a platform of somebody", ELF("\xb7"), "cell-ppu-linux",
	    "") KIND("Linux on Windows", ELF("\x3e"), "windows_x86_64",
	    "a program for Linux or Unix, and windows_x86_64 is Windows")
	    KIND("Windows on Linux", PE("\x64\x86"), "x86_64-pc-linux-gnu",
		"a program for Windows") KIND("Windows", PE("\x64\x86"),
		"windows_x86_64", "") KIND("Windows on arm", PE("\x64\xaa"),
		"windows_x86_64", "a program for arm64") KIND("a Mac",
		"\xcf\xfa\xed\xfe\x0c\0\0\1", "arm64-apple-darwin",
		"") KIND("another Mac", "\xcf\xfa\xed\xfe\x0c\0\0\1",
		"x86_64-apple-darwin",
		"a program for arm64") KIND("a Mac of both kinds",
		"\xca\xfe\xba\xbe\0\0\0\2", "x86_64-apple-darwin", "") KIND("a script",
		"#!/bin/sh\necho\n", "x86_64-pc-linux-gnu", "") KIND("no #!",
		"print(1)\n", "x86_64-pc-linux-gnu", "is a text without #!")
		KIND("nothing", "", "x86_64-pc-linux-gnu", "is a text without #!")
		    KIND("CR LF", "#!/bin/sh\r\necho hi\r\n", "x86_64-pc-linux-gnu",
			"hosts look for \"/bin/sh\\r\"") KIND("CR LF further down",
			"#!/bin/sh\necho hi\r\n", "x86_64-pc-linux-gnu", "")
			KIND("a batch file", "@echo off\r\n", "windows_x86_64", "")
			    KIND("a script on Windows", "#!/bin/sh\n", "windows_x86_64",
				"which Windows cannot start") KIND("something else",
				"PK\3\4\0\0\0", "x86_64-pc-linux-gnu", "")
#undef KIND
};

START_TEST(kind)
{
	struct arena a = { 0 };
	struct fail f = { 0 };
	char dir[PATH_MAX], *path;
	const char *why;

	unit_dir(dir);
	path = arena_printf(&a, "%s/program", dir);
	ck_assert_int_eq(fs_write(path, kinds[_i].head, kinds[_i].n, 0755, &f), OK);
	why = program_misfit(&a, path, kinds[_i].platform);
	if (kinds[_i].why[0] == '\0')
		ck_assert_msg(why == NULL, "%s: %s", kinds[_i].what, why);
	else
		ck_assert_msg(why != NULL && strstr(why, kinds[_i].why) != NULL,
		    "%s: %s", kinds[_i].what, why == NULL ? "it fits" : why);
	fs_rmtree(dir, &f);
	arena_free(&a);
}
END_TEST

UNIT_MAIN("program_kind", { ADD_LOOP(kind, N(kinds)); })
