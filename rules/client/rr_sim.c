/* SPDX-License-Identifier: Apache-2.0 */
/* The weighted round-robin simulation: tasks in, shortfalls and misses out. */
#include "rules/client/rr_sim.h"

#include <math.h>
#include <stdlib.h>
#include "rules/client/world.h"
#include "lib/banned.h"

/* Water filling: the level, and which stream ends a task first. */

static const double EPSILON = 1e-9;

/* --- heaps of streams, by key[] --- */

static void heap_place(struct heap *h, uint32_t *pos, uint32_t i, uint32_t stream)
{
	h->at[i] = stream;
	pos[stream] = i;
}

static void heap_sift_up(struct heap *h, const double *key, uint32_t *pos, uint32_t i)
{
	uint32_t s = h->at[i];

	while (i > 0 && key[s] < key[h->at[(i - 1) / 2]]) {
		heap_place(h, pos, i, h->at[(i - 1) / 2]);
		i = (i - 1) / 2;
	}
	heap_place(h, pos, i, s);
}

static void heap_sift_down(struct heap *h, const double *key, uint32_t *pos, uint32_t i)
{
	uint32_t s = h->at[i];

	for (;;) {
		uint32_t k = 2 * i + 1;

		if (k + 1 < h->n && key[h->at[k + 1]] < key[h->at[k]])
			k++;
		if (k >= h->n || key[h->at[k]] >= key[s])
			break;
		heap_place(h, pos, i, h->at[k]);
		i = k;
	}
	heap_place(h, pos, i, s);
}

static void heap_insert(
    struct heap *h, const double *key, uint32_t *pos, uint32_t stream)
{
	h->at[h->n] = stream;
	heap_sift_up(h, key, pos, h->n++);
}

static void heap_remove(
    struct heap *h, const double *key, uint32_t *pos, uint32_t stream)
{
	uint32_t i = pos[stream], last = h->at[--h->n];

	if (i == h->n)
		return;
	h->at[i] = last;
	pos[last] = i;
	heap_sift_up(h, key, pos, i);
	heap_sift_down(h, key, pos, pos[last]);
}

/* --- streams --- */

/* Derives the keys: when the stream's first task ends, and the level at which it is
 * capped. */
static void set_keys(struct flow *f, uint32_t i)
{
	struct stream *s = &f->streams[i];
	double threshold;

	s->cap = cw_min(s->use, f->ninst);
	s->speed = (s->capped ? s->cap : s->share) / s->use;
	threshold = s->cap / s->share;
	f->end_key[i] = s->mark + (s->next_vtime - s->vtime) / s->speed;
	f->cap_key[i] = s->capped ? -threshold : threshold;
}

/* Adds the stream to the sums, or takes it out with times -1. */
static void add_to_sums(struct flow *f, const struct stream *s, double times)
{
	double other = times * s->other * s->speed;

	if (s->capped) {
		f->caps += times * s->cap;
		f->other_capped += other;
	} else {
		f->shares += times * s->share;
		f->other_per_level += other;
	}
}

static void leave_flow(struct flow *f, uint32_t i)
{
	struct stream *s = &f->streams[i];
	struct heap *end = s->capped ? &f->capped_end : &f->open_end;

	s->vtime = flow_vtime(f, i);
	heap_remove(end, f->end_key, f->end_pos, i);
	heap_remove(
	    s->capped ? &f->capped_cap : &f->open_cap, f->cap_key, f->cap_pos, i);
	add_to_sums(f, s, -1);
	if (end->n == 0) /* discard what rounding left */
		*(s->capped ? &f->caps : &f->shares) = 0;
}

static void enter_flow(struct flow *f, uint32_t i, bool capped)
{
	struct stream *s = &f->streams[i];

	s->capped = capped;
	s->mark = capped ? f->now : f->level_time;
	set_keys(f, i);
	heap_insert(capped ? &f->capped_end : &f->open_end, f->end_key, f->end_pos, i);
	heap_insert(capped ? &f->capped_cap : &f->open_cap, f->cap_key, f->cap_pos, i);
	add_to_sums(f, s, 1);
}

static double find_level(const struct flow *f)
{
	double left = f->capacity - f->caps;

	if (f->open_end.n > 0)
		return left / f->shares;
	return left >= -EPSILON * f->ninst ? INFINITY : -INFINITY;
}

/* Each move raises the level, so no stream moves twice: a stream that becomes capped
 * uses less than the level gave it, and one that becomes uncapped leaves what it had
 * beyond the level. */
static void flow_settle(struct flow *f)
{
	f->unsettled = false;
	for (;;) {
		uint32_t i;

		f->level = find_level(f);
		if (f->open_cap.n > 0 &&
		    f->cap_key[i = f->open_cap.at[0]] <= f->level * (1 + 1e-14)) {
			leave_flow(f, i);
			enter_flow(f, i, true);
		} else if (f->capped_cap.n > 0 && -f->cap_key[i = f->capped_cap.at[0]] >
						      f->level * (1 + 1e-9)) {
			leave_flow(f, i);
			enter_flow(f, i, false);
		} else
			break;
	}
}

static void flow_init(struct flow *f, struct arena *a, size_t n, double ninst)
{
	uint32_t *u = NEWN(a, uint32_t, 6 * n);
	double *d = NEWN(a, double, 2 * n);

	*f = (struct flow){ .streams = NEWN(a, struct stream, n),
		.ninst = ninst,
		.capacity = ninst,
		.level = INFINITY,
		.open_end = { u, 0 },
		.open_cap = { u + n, 0 },
		.capped_end = { u + 2 * n, 0 },
		.capped_cap = { u + 3 * n, 0 },
		.end_key = d,
		.cap_key = d + n,
		.end_pos = u + 4 * n,
		.cap_pos = u + 5 * n };
}

/* Restores the heap after the stream's key changed. */
static void heap_update(struct heap *h, const double *key, uint32_t *pos, uint32_t i)
{
	if (h->n == 1)
		return;
	heap_sift_up(h, key, pos, pos[i]);
	heap_sift_down(h, key, pos, pos[i]);
}

/* The stream's first task was replaced. */
static void update_end_key(struct flow *f, uint32_t i)
{
	const struct stream *s = &f->streams[i];

	f->end_key[i] = s->mark + (s->next_vtime - s->vtime) / s->speed;
	heap_update(
	    s->capped ? &f->capped_end : &f->open_end, f->end_key, f->end_pos, i);
}

static void change_use(struct flow *f, uint32_t i, double use, double other)
{
	struct stream *s = &f->streams[i];

	s->vtime = flow_vtime(f, i);
	s->mark = s->capped ? f->now : f->level_time;
	add_to_sums(f, s, -1);
	s->use = use;
	s->other = other;
	set_keys(f, i);
	add_to_sums(f, s, 1);
	heap_update(
	    s->capped ? &f->capped_end : &f->open_end, f->end_key, f->end_pos, i);
	heap_update(
	    s->capped ? &f->capped_cap : &f->open_cap, f->cap_key, f->cap_pos, i);
}

static void flow_set(
    struct flow *f, uint32_t i, double use, double other, double next_vtime)
{
	struct stream *s = &f->streams[i];

	s->next_vtime = next_vtime;
	if (s->use == use && s->other == other) {
		if (use > 0)
			update_end_key(f, i);
		return;
	}
	f->unsettled = true;
	if (s->use > 0 && use > 0) {
		change_use(f, i, use, other);
		return;
	}
	if (s->use > 0)
		leave_flow(f, i);
	s->use = use;
	s->other = other;
	if (use > 0)
		enter_flow(f, i, s->capped);
}

/* Returns when the next task ends if nothing changes, INFINITY if none does, and its
 * stream. */
static double flow_next(const struct flow *f, uint32_t *stream)
{
	double open = INFINITY, capped = INFINITY;

	if (f->open_end.n > 0 && f->level > 0)
		open = f->now +
		       (f->end_key[f->open_end.at[0]] - f->level_time) / f->level;
	if (f->capped_end.n > 0)
		capped = f->end_key[f->capped_end.at[0]];
	if (open == INFINITY && capped == INFINITY)
		return INFINITY;
	*stream = open < capped ? f->open_end.at[0] : f->capped_end.at[0];
	return cw_max(f->now, cw_min(open, capped));
}

static double flow_other(const struct flow *f)
{
	double open = f->open_end.n > 0 ? f->level * f->other_per_level : 0;

	return open + (f->capped_end.n > 0 ? f->other_capped : 0);
}

static const double NEAR_S = 1e-6; /* times this close are the same */
/* Tasks that may be passed over because they do not fit into memory. */
enum { PASSED_OVER_MOST = 16, HALVINGS = 24 };
static const double RAM_IDLE_LEAST = 1e-6; /* of the CPUs */

struct task_queue { /* waiting tasks by index, linked by next[] */
	int32_t first, last;
};
struct task_group { /* tasks of one project for one resource */
	/* front: tasks that a limit held back; they go first. big: tasks passed over
	 * because they did not fit into memory, nbig of them */
	struct task_queue front, wait, big;
	uint32_t nbig;
	uint32_t *active, n; /* heap, earliest end first */
	uint32_t ntasks;
	double use;
	double other;       /* see struct flow: CPUs; of CPU tasks, memory */
	double entitled;    /* instances */
	double used, since; /* instances in use since then */
};
struct rr_run {
	const struct client_world *world;
	struct rr_sim *out;
	/* One flow per resource; then one per resource for backup projects, which take
	 * what is left. */
	struct flow flows[2 * CW_RSC_MOST];
	bool backup;               /* there are backup projects */
	struct task_group *groups; /* nprojects * nrsc */
	int32_t *next;             /* per task */
	/* Per task: virtual time of its stream when it ends. */
	double *end_vtime;
	int32_t *nproject, *napp; /* active tasks */
	double *ram;              /* per project: memory of its active tasks */
	double ram_idle;          /* CPUs that cannot be used for want of memory */
	struct task_queue *held;  /* per app: tasks that wait for its limit */
	double now, horizon;
	bool seen_idle[CW_RSC_MOST];
};

static struct task_group *rr_group_of(const struct rr_run *s, const struct cw_task *t)
{
	return &s->groups[(size_t)t->project * s->world->nrsc + (size_t)t->rsc];
}

static struct flow *flow_of(struct rr_run *s, size_t project, size_t rsc)
{
	return &s->flows[s->world->projects[project].share > 0 ? rsc :
								 CW_RSC_MOST + rsc];
}

static void queue_append(struct rr_run *s, struct task_queue *l, int32_t i)
{
	s->next[i] = CW_NONE;
	if (l->first < 0)
		l->first = i;
	else
		s->next[l->last] = i;
	l->last = i;
}

static int32_t queue_pop(struct rr_run *s, struct task_queue *l)
{
	int32_t i = l->first;

	if (i >= 0)
		l->first = s->next[i];
	return i;
}

/* --- active tasks of a group: a heap by end_vtime --- */

static void active_push(struct rr_run *s, struct task_group *g, uint32_t task)
{
	uint32_t i = g->n++;

	while (i > 0 && s->end_vtime[task] < s->end_vtime[g->active[(i - 1) / 2]]) {
		g->active[i] = g->active[(i - 1) / 2];
		i = (i - 1) / 2;
	}
	g->active[i] = task;
}

static uint32_t active_pop(struct rr_run *s, struct task_group *g)
{
	uint32_t first = g->active[0], last = g->active[--g->n], i = 0;

	for (;;) {
		uint32_t k = 2 * i + 1;

		if (k + 1 < g->n &&
		    s->end_vtime[g->active[k + 1]] < s->end_vtime[g->active[k]])
			k++;
		if (k >= g->n || s->end_vtime[g->active[k]] >= s->end_vtime[last])
			break;
		g->active[i] = g->active[k];
		i = k;
	}
	g->active[i] = last;
	return first;
}

/* --- which tasks may run --- */

static bool app_full(const struct rr_run *s, int32_t app)
{
	return s->world->napps > 0 && s->world->apps[app].max_concurrent > 0 &&
	       s->napp[app] >= s->world->apps[app].max_concurrent;
}

/* A project's tasks alone may not take more memory than there is; how several projects
 * share it follows from fit_memory(). */
static bool fits_memory(const struct rr_run *s, const struct cw_task *t)
{
	double limit = s->world->prefs.ram_bytes, used = s->ram[t->project];

	return limit <= 0 || used <= 0 || used + t->rss_bytes <= limit;
}

/* Takes the next task that the group may run; tasks of a full app are set aside to wait
 * for it, and smaller tasks may pass those that do not fit into memory. */
static int32_t pop_startable(struct rr_run *s, struct task_group *g)
{
	while (g->nbig < PASSED_OVER_MOST) {
		int32_t i = queue_pop(s, &g->front);

		if (i < 0)
			i = queue_pop(s, &g->wait);
		if (i < 0)
			return i;
		if (app_full(s, s->world->tasks[i].app)) {
			queue_append(s, &s->held[s->world->tasks[i].app], i);
		} else if (!fits_memory(s, &s->world->tasks[i])) {
			queue_append(s, &g->big, i);
			g->nbig++;
		} else {
			return i;
		}
	}
	return CW_NONE;
}

/* Adds what the project could not use of its entitlement since its use last changed. */
static void add_shortfall(
    struct rr_run *s, size_t project, size_t rsc, struct task_group *g)
{
	double clip = cw_min(s->now, s->horizon), gap = g->entitled - g->used;

	if (gap > 0)
		s->out->projects[project].shortfall[rsc] += gap * (clip - g->since);
	g->since = clip;
	g->used = g->use;
}

/* Starts tasks until all instances would be in use. */
static void refill(struct rr_run *s, size_t project, size_t rsc)
{
	uint32_t stream = (uint32_t)project;
	struct task_group *g = &s->groups[project * s->world->nrsc + rsc];
	struct flow *f = flow_of(s, project, rsc);
	double v = flow_vtime(f, stream);
	int32_t most = s->world->projects[project].max_concurrent;

	/* Tasks passed over are tried again before the others. */
	if (g->nbig != 0) {
		s->next[g->big.last] = g->front.first;
		if (g->front.first < 0)
			g->front.last = g->big.last;
		g->front.first = g->big.first;
		g->big.first = CW_NONE;
		g->nbig = 0;
	}
	while (g->use < s->world->rsc[rsc].ninst - 1e-9 &&
	       (most <= 0 || s->nproject[project] < most)) {
		int32_t i = pop_startable(s, g);
		const struct cw_task *t;

		if (i < 0)
			break;
		t = &s->world->tasks[i];
		s->end_vtime[i] = v + t->remaining_s / s->world->rsc[rsc].avail;
		active_push(s, g, (uint32_t)i);
		g->use += t->use;
		g->other += rsc == CW_CPU ? t->rss_bytes : t->ncpus;
		s->ram[project] += t->rss_bytes;
		s->nproject[project]++;
		if (s->world->napps > 0)
			s->napp[t->app]++;
	}
	if (g->use != g->used)
		add_shortfall(s, project, rsc, g);
	flow_set(f, stream, g->use, g->other,
	    g->n > 0 ? s->end_vtime[g->active[0]] : INFINITY);
}

static void set_share(struct flow *f, uint32_t i, double share)
{
	const struct stream s = f->streams[i];

	if (s.share == share)
		return;
	flow_set(f, i, 0, 0, INFINITY);
	f->streams[i].share = share;
	flow_set(f, i, s.use, s.other, s.next_vtime);
}

/* Multiplies the shares of the projects whose tasks take more memory per CPU than there
 * is. Returns the memory that is taken then. */
static double weigh_great(struct rr_run *s, struct flow *f, double times)
{
	const struct client_world *w = s->world;

	for (uint32_t p = 0; p < w->nprojects; p++) {
		const struct stream *m = &f->streams[p];
		bool great = m->other * f->ninst > m->use * w->prefs.ram_bytes;

		if (w->projects[p].share > 0)
			set_share(f, p, w->projects[p].share * (great ? times : 1));
	}
	flow_settle(f);
	return flow_other(f);
}

/* Lets small tasks run in the place of great ones until a flow fits into memory, or
 * only small ones run. Returns false if it does not fit. */
static bool fit_by_shares(struct rr_run *s, struct flow *f, double most)
{
	double low = 0, high = 1;

	if (weigh_great(s, f, 1) <= most)
		return true;
	for (int i = 0; i < HALVINGS; i++) {
		double times = (low + high) / 2;

		if (weigh_great(s, f, times) > most)
			high = times;
		else
			low = times;
	}
	return weigh_great(s, f, low > 0 ? low : high) <= most;
}

/* Lowers the CPUs of a settled flow until its tasks fit into memory: what a flow needs
 * grows with what it is given. */
static void fit_memory(struct rr_run *s, struct flow *f)
{
	double most = s->world->prefs.ram_bytes * (1 + 1e-9), all = f->capacity;
	double low = 0, high = all;

	s->ram_idle = 0;
	if (most <= 0 ||
	    (s->world->small_first ? fit_by_shares(s, f, most) : flow_other(f) <= most))
		return;
	for (int i = 0; i < HALVINGS; i++) {
		f->capacity = (low + high) / 2;
		flow_settle(f);
		if (flow_other(f) > s->world->prefs.ram_bytes)
			high = f->capacity;
		else
			low = f->capacity;
	}
	s->ram_idle = all - f->capacity;
	if (s->ram_idle < RAM_IDLE_LEAST * f->ninst) /* an error of the halving */
		s->ram_idle = 0;
}

/* Coprocessor tasks take their CPUs before CPU tasks do; backup projects come last. */
static void share_out(struct rr_run *s)
{
	double taken = 0;
	bool any = false;

	for (size_t r = 0; r < s->world->nrsc; r++)
		any |= s->flows[r].unsettled || s->flows[CW_RSC_MOST + r].unsettled;
	for (size_t k = 0; k < s->world->nrsc && any; k++) {
		size_t r = s->world->nrsc - 1 - k;
		struct flow *f = &s->flows[r], *b = &s->flows[CW_RSC_MOST + r];

		if (r == CW_CPU)
			f->capacity = cw_max(0, f->ninst - taken);
		flow_settle(f);
		if (r == CW_CPU)
			fit_memory(s, f);
		if (s->backup) {
			b->capacity = flow_idle(f);
			flow_settle(b);
		}
		if (r != CW_CPU)
			taken += flow_other(f) + (s->backup ? flow_other(b) : 0);
	}
}

static double idle_of(const struct rr_run *s, size_t rsc)
{
	double idle = flow_idle(&s->flows[s->backup ? CW_RSC_MOST + rsc : rsc]);

	return rsc == CW_CPU ? idle + s->ram_idle : idle;
}

/* --- set-up and verdict --- */

static void set_shares(struct rr_run *s, struct arena *a)
{
	const struct client_world *w = s->world;
	bool *sharing = NEWN(a, bool, w->nprojects);
	double sum = 0;

	cw_potentially_runnable(w, sharing);
	for (size_t p = 0; p < w->nprojects; p++) {
		sum += sharing[p] ? w->projects[p].share : 0;
		s->backup |= w->projects[p].share <= 0;
	}
	for (size_t r = 0; r < w->nrsc; r++) {
		flow_init(&s->flows[r], a, w->nprojects, w->rsc[r].ninst);
		if (s->backup)
			flow_init(&s->flows[CW_RSC_MOST + r], a, w->nprojects,
			    w->rsc[r].ninst);
	}
	for (size_t p = 0; p < w->nprojects; p++)
		for (size_t r = 0; r < w->nrsc; r++) {
			double share = w->projects[p].share;

			flow_of(s, p, r)->streams[p].share = share > 0 ? share : 1;
			if (sharing[p] && sum > 0)
				s->groups[p * w->nrsc + r].entitled = share / sum *
				                                      w->rsc[r].ninst;
		}
}

static void queue_tasks(struct rr_run *s, struct arena *a)
{
	const struct client_world *w = s->world;
	uint32_t *heaps = NEWN(a, uint32_t, w->ntasks);

	for (size_t i = 0; i < w->nprojects * w->nrsc; i++)
		s->groups[i].front.first = s->groups[i].wait.first =
		    s->groups[i].big.first = CW_NONE;
	for (size_t i = 0; i < w->napps; i++)
		s->held[i].first = CW_NONE;
	for (size_t i = 0; i < w->ntasks; i++) {
		const struct cw_task *t = &w->tasks[i];
		struct rr_project *p = &s->out->projects[t->project];

		if (!rr_takes_part(w, t))
			continue;
		queue_append(s, &rr_group_of(s, t)->wait, (int32_t)i);
		p->ntasks[t->rsc]++;
		p->nrunnable[t->rsc] += cw_runnable(w, t);
		p->queued[t->rsc] += t->remaining_s * t->use;
	}
	for (size_t p = 0; p < w->nprojects; p++)
		for (size_t r = 0; r < w->nrsc; r++) {
			s->groups[p * w->nrsc + r].active = heaps;
			heaps += s->out->projects[p].ntasks[r];
		}
}

static void judge_finish(struct rr_run *s, uint32_t i)
{
	const struct client_world *w = s->world;
	const struct cw_task *t = &w->tasks[i];
	double cushion = rr_cushion_s(w, t);
	double spare = t->deadline - cushion - w->now - s->now;

	s->out->tasks[i].finish_s = s->now;
	s->out->spare_s = cw_min(s->out->spare_s, spare);
	if (spare >= -NEAR_S) {
		s->out->recheck_s = cw_min(
		    s->out->recheck_s, rr_recheck_s(cushion, spare));
		return;
	}
	s->out->tasks[i].miss = true;
	s->out->projects[t->project].misses[t->rsc]++;
	s->out->rsc[t->rsc].missed_use += t->use;
}

/* --- the simulation --- */

static void advance_to(struct rr_run *s, double t)
{
	double dt = cw_min(t, s->horizon) - cw_min(s->now, s->horizon);

	for (size_t r = 0; r < s->world->nrsc; r++) {
		double idle = idle_of(s, r);

		if (idle > 0 && !s->seen_idle[r]) {
			s->seen_idle[r] = true;
			s->out->rsc[r].saturated_s = s->now;
		}
		s->out->rsc[r].shortfall += idle * dt;
		flow_advance(&s->flows[r], t);
		if (s->backup)
			flow_advance(&s->flows[CW_RSC_MOST + r], t);
	}
	s->now = t;
}

static void end_task(struct rr_run *s, size_t project, size_t rsc)
{
	struct task_group *g = &s->groups[project * s->world->nrsc + rsc];
	uint32_t i = active_pop(s, g);
	const struct cw_task *t = &s->world->tasks[i];

	judge_finish(s, i);
	g->use = g->n == 0 ? 0 : g->use - t->use;
	g->other = g->n == 0     ? 0 :
	           rsc == CW_CPU ? g->other - t->rss_bytes :
	                           g->other - t->ncpus;
	s->nproject[project]--;
	s->ram[project] = s->nproject[project] == 0 ? 0 :
	                                              s->ram[project] - t->rss_bytes;
	if (s->world->napps > 0) {
		int32_t held;

		s->napp[t->app]--;
		held = queue_pop(s, &s->held[t->app]);
		if (held >= 0) {
			const struct cw_task *h = &s->world->tasks[held];

			queue_append(s, &rr_group_of(s, h)->front, held);
			if (h->rsc != (int32_t)rsc)
				refill(s, project, (size_t)h->rsc);
		}
	}
}

static void end_and_refill(struct rr_run *s, double t, size_t rsc, uint32_t project)
{
	const struct client_world *w = s->world;

	advance_to(s, t);
	end_task(s, project, rsc);
	if (w->projects[project].max_concurrent > 0 || w->prefs.ram_bytes > 0)
		for (size_t k = 0; k < w->nrsc; k++)
			refill(s, project, w->nrsc - 1 - k);
	else
		refill(s, project, rsc);
	share_out(s);
}

static bool next_task_end(
    const struct rr_run *s, double *t, size_t *rsc, uint32_t *project)
{
	*t = INFINITY;
	for (size_t k = 0; k < (s->backup ? 2 : 1); k++)
		for (size_t r = 0; r < s->world->nrsc; r++) {
			uint32_t p = 0;
			double at = flow_next(&s->flows[k * CW_RSC_MOST + r], &p);

			if (at < *t) {
				*t = at;
				*rsc = r;
				*project = p;
			}
		}
	return *t < INFINITY;
}

/* --- busy time: tasks that would miss, earliest deadline first (client.md 4.3) --- */

struct missed {
	double deadline, length_s, use;
	uint32_t task;
};

static int missed_by_deadline(const void *pa, const void *pb)
{
	const struct missed *a = pa, *b = pb;

	if (a->deadline != b->deadline)
		return a->deadline < b->deadline ? -1 : 1;
	return a->task < b->task ? -1 : 1;
}

/* Adds length to the instance that is free first; free_at is a heap. */
static void load_first(double *free_at, size_t n, double length)
{
	double x = free_at[0] + length;
	size_t i = 0;

	for (;;) {
		size_t k = 2 * i + 1;

		if (k + 1 < n && free_at[k + 1] < free_at[k])
			k++;
		if (k >= n || free_at[k] >= x)
			break;
		free_at[i] = free_at[k];
		i = k;
	}
	free_at[i] = x;
}

static void busy_time(struct rr_run *s, struct arena *a, size_t rsc)
{
	const struct client_world *w = s->world;
	size_t n = 0, ninst = (size_t)cw_max(1, floor(w->rsc[rsc].ninst + 1e-9));
	double *free_at;
	struct missed *u;

	if (s->out->rsc[rsc].missed_use <= 0)
		return;
	free_at = NEWN(a, double, ninst);
	u = NEWN(a, struct missed, w->ntasks);
	for (uint32_t i = 0; i < w->ntasks; i++)
		if (s->out->tasks[i].miss && w->tasks[i].rsc == (int32_t)rsc)
			u[n++] = (struct missed){ w->tasks[i].deadline,
				w->tasks[i].remaining_s / w->rsc[rsc].avail,
				w->tasks[i].use, i };
	qsort(u, n, sizeof(*u), missed_by_deadline);
	for (size_t i = 0; i < n; i++) {
		double use = cw_min(u[i].use, (double)ninst);

		for (; use >= 1 - 1e-9; use--)
			load_first(free_at, ninst, u[i].length_s);
		load_first(free_at, ninst, u[i].length_s * use);
	}
	s->out->rsc[rsc].busy_s = free_at[0];
}

static void start_simulation(struct rr_run *s, struct arena *a)
{
	const struct client_world *w = s->world;

	set_shares(s, a);
	queue_tasks(s, a);
	for (size_t k = 0; k < w->nrsc; k++)
		for (size_t p = 0; p < w->nprojects; p++) {
			size_t r = w->nrsc - 1 - k;

			refill(s, p, r);
			s->out->projects[p].used[r] = cw_min(
			    s->groups[p * w->nrsc + r].use, w->rsc[r].ninst);
		}
	share_out(s);
	for (size_t r = 0; r < w->nrsc; r++)
		s->out->rsc[r].nidle = idle_of(s, r);
}

/* Adds the shortfall from the last task's end to the end of the buffer, and judges
 * tasks that never end. */
static void finish_simulation(struct rr_run *s)
{
	const struct client_world *w = s->world;

	advance_to(s, INFINITY);
	for (size_t p = 0; p < w->nprojects; p++)
		for (size_t r = 0; r < w->nrsc; r++) {
			struct task_group *g = &s->groups[p * w->nrsc + r];

			add_shortfall(s, p, r, g);
			for (uint32_t i = 0; i < g->n; i++)
				judge_finish(s, g->active[i]);
		}
}

void rr_simulate(const struct client_world *w, struct arena *a, struct rr_sim *out)
{
	struct rr_run s = { .world = w,
		.out = out,
		.groups = NEWN(a, struct task_group, w->nprojects * w->nrsc),
		.next = NEWN(a, int32_t, w->ntasks),
		.end_vtime = NEWN(a, double, w->ntasks),
		.nproject = NEWN(a, int32_t, w->nprojects),
		.napp = NEWN(a, int32_t, w->napps),
		.ram = NEWN(a, double, w->nprojects),
		.held = NEWN(a, struct task_queue, w->napps),
		.horizon = w->prefs.min_s + w->prefs.extra_s };
	double t;
	size_t rsc = 0;
	uint32_t project = 0;

	*out = (struct rr_sim){ .projects = NEWN(a, struct rr_project, w->nprojects),
		.tasks = NEWN(a, struct rr_task, w->ntasks),
		.recheck_s = INFINITY,
		.spare_s = INFINITY };
	start_simulation(&s, a);
	while (next_task_end(&s, &t, &rsc, &project))
		end_and_refill(&s, t, rsc, project);
	finish_simulation(&s);
	for (size_t r = 0; r < w->nrsc; r++)
		busy_time(&s, a, r);
}
