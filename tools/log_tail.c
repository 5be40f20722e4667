/* SPDX-License-Identifier: Apache-2.0 */
/* Reads only the end of a log, which may be large. */
#include "tools/log_tail.h"

#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>
#include "lib/terminal.h"
#include "lib/banned.h"

enum { TAIL_BYTES = 1000, LOOK_BYTES = 16 << 10, LINE_BYTES = 250 };

static char *
read_end(struct arena *a, const char *path, size_t most)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	char *text = arena_alloc(a, most + 1), *line;
	ssize_t n;
	bool cut;

	if (fd < 0)
		return text;
	cut = lseek(fd, -(off_t)most, SEEK_END) > 0;
	n = read(fd, text, most);
	close(fd);
	n = n > 0 ? n : 0;
	text[terminal_clean(text, (size_t)n, NULL)] = '\0';
	line = cut ? strchr(text, '\n') : NULL;
	return line == NULL ? text : line + 1;
}

char *
log_tail(struct arena *a, const char *path)
{
	return read_end(a, path, TAIL_BYTES);
}

char *
log_find_error(struct arena *a, const char *path)
{
	char *text = read_end(a, path, LOOK_BYTES), *hit = strstr(text, "[ERROR]");
	size_t n;

	if (hit == NULL)
		return log_tail(a, path);
	n = strcspn(hit, "\n");
	return arena_memdup(a, hit, n < LINE_BYTES ? n : LINE_BYTES);
}
