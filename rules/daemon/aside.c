/* SPDX-License-Identifier: Apache-2.0 */
/* Pauses of single workunits, and of a whole stage (scheduling.md 4.9). */
#include "rules/daemon/aside.h"

#include "lib/banned.h"

int64_t
pause_doubled_s(int64_t first, int64_t n, int64_t most)
{
	int64_t pause = first;

	for (int64_t i = 1; i < n && pause < most; i++)
		pause *= 2;
	return pause < most ? pause : most;
}

int64_t
aside_pause_s(int64_t tries)
{
	return pause_doubled_s(ASIDE_FIRST_S, tries, ASIDE_MOST_S);
}

enum pause_turn
pause_turn(const struct stage_pause *p, int64_t now, size_t *most)
{
	*most = p->paused ? PAUSE_PROBE : PAUSE_SAMPLE;
	if (p->paused)
		return now < p->probe_at ? TURN_WAIT : TURN_SAMPLE;
	return p->streak < PAUSE_STREAK ? TURN_ALL : TURN_SAMPLE;
}

/* After a success the workunits that failed are to blame, not the stage. */
static enum pause_news
pause_over(struct stage_pause *p)
{
	bool was = p->paused;

	*p = (struct stage_pause){ .since = was ? p->since : 0 };
	return was ? PAUSE_ENDS : PAUSE_NO_NEWS;
}

static void
next_probe(struct stage_pause *p, int64_t now)
{
	p->probes++;
	p->probe_at = now + pause_doubled_s(PAUSE_FIRST_S, p->probes, PAUSE_MOST_S);
}

enum pause_news
pause_tried(struct stage_pause *p, enum pause_turn turn, int64_t now, size_t good,
    size_t bad, size_t bad_again)
{
	if (good > 0)
		return pause_over(p);
	if (p->paused) {
		if (bad + bad_again > 0)
			next_probe(p, now);
		return PAUSE_NO_NEWS;
	}
	if (bad == 0)
		return PAUSE_NO_NEWS;
	if (p->streak == 0)
		p->since = now;
	p->streak += (int64_t)bad;
	if (turn == TURN_ALL && p->streak > PAUSE_STREAK)
		p->streak = PAUSE_STREAK;
	if (p->streak < PAUSE_STREAK + PAUSE_SAMPLE)
		return PAUSE_NO_NEWS;
	p->paused = true;
	next_probe(p, now);
	return PAUSE_BEGINS;
}

void
retry_took(struct retry_share *r, int64_t took_ms, int64_t now_ms)
{
	size_t twice = r->most * 2;

	if (took_ms > RETRY_STEP_MS)
		r->most = 1;
	else
		r->most = twice < 1 ? 1 : twice > RETRY_MOST ? RETRY_MOST : twice;
	r->next_ms = now_ms + RETRY_REST * took_ms;
}
