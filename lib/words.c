/* SPDX-License-Identifier: Apache-2.0 */
/* One pass over the text; the first word of the list that matches is taken. */
#include "lib/words.h"

#include <string.h>
#include "lib/buf.h"

static const struct word *
word_at(const char *p, const struct word *words, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (strncmp(p, words[i].word, strlen(words[i].word)) == 0)
			return &words[i];
	return NULL;
}

char *
words_fill(struct arena *a, const char *text, const struct word *words, size_t n)
{
	struct buf b = buf_new(a);
	char *firsts = arena_alloc(a, n + 1); /* first bytes of all words */

	for (size_t i = 0; i < n; i++)
		firsts[i] = words[i].word[0];
	for (;;) {
		size_t plain = strcspn(text, firsts);
		const struct word *w;
		buf_put(&b, text, plain);
		text += plain;
		if (*text == '\0')
			break;
		w = word_at(text, words, n);
		if (w == NULL) {
			buf_put(&b, text++, 1);
			continue;
		}
		buf_puts(&b, w->value);
		text += strlen(w->word);
	}
	return b.n == 0 ? arena_strdup(a, "") : b.p;
}
