/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The periodogram as SVG: one panel per file, all to the same scales, so that peaks can
 * be compared. Colours follow the reader's light or dark setting.
 */
#include <math.h>

#include "samples/pulsar/sky.h"
#include "lib/banned.h"

enum {
	WIDTH = 960,
	TOP = 92,
	LEFT = 66,
	PANEL_W = 396,
	PANEL_H = 104,
	PITCH_X = 462,
	PITCH_Y = 154,
	BOTTOM = 44,
	LABEL_W = 160, /* room for the label beside a peak */
};

struct frame {
	double top, tick; /* of the common y axis */
	double x, y;      /* upper left corner of the panel */
};

static const char style[] =
    "<style>\n"
    "text { font: 12px system-ui, 'DejaVu Sans', sans-serif; fill: #52606d; }\n"
    ".bg { fill: #ffffff; }\n"
    ".head { font-size: 18px; font-weight: 600; fill: #1f2933; }\n"
    ".name { font-weight: 600; fill: #1f2933; }\n"
    ".tick { font-size: 11px; }\n"
    ".grid { stroke: #e4e7eb; } .axis { stroke: #9aa5b1; }\n"
    ".line { fill: none; stroke: #2b6cb0; stroke-linejoin: round; }\n"
    ".gap { fill: #9aa5b1; fill-opacity: .35; }\n"
    ".peak { fill: none; stroke: #c2410c; stroke-width: 2; }\n"
    ".mark { fill: #c2410c; font-weight: 600; }\n"
    "@media (prefers-color-scheme: dark) {\n"
    "  text { fill: #a9b4c0; } .bg { fill: #14181d; }\n"
    "  .head, .name { fill: #e6ebf0; }\n"
    "  .grid { stroke: #2a313a; } .axis { stroke: #6b7785; }\n"
    "  .line { stroke: #6cb2f5; } .peak { stroke: #fb923c; } .mark { fill: #fb923c; }\n"
    "}\n"
    "</style>\n";

/* Step of the y axis: 1, 2 or 5 times a power of ten, at most four steps to the top. */
static double tick_of(double top)
{
	double ten = pow(10, floor(log10(top / 4)));

	for (int i = 1; i <= 5; i = i * 2 + (i == 2)) /* 1, 2, 5 */
		if (top / (ten * i) <= 4)
			return ten * i;
	return ten * 10;
}

static double x_of(const struct frame *fr, double trial)
{
	return fr->x + trial / PULSAR_TRIALS * PANEL_W;
}

static double y_of(const struct frame *fr, double snr)
{
	return fr->y + PANEL_H * (1 - fmax(snr, 0) / fr->top);
}

static void put_axes(struct buf *b, const struct frame *fr, bool last)
{
	int32_t hz = (int32_t)ceil(pulsar_hz(0));
	double base = fr->y + PANEL_H;

	for (double v = 0; v <= fr->top; v += fr->tick) {
		buf_printf(b,
		    "<path class=\"%s\" d=\"M%.1f %.1fh%d\"/>"
		    "<text class=\"tick\" x=\"%.1f\" y=\"%.1f\" text-anchor=\"end\">%g</text>\n",
		    v > 0 ? "grid" : "axis", fr->x, y_of(fr, v), PANEL_W, fr->x - 8,
		    y_of(fr, v) + 4, v);
	}
	for (; hz <= pulsar_hz(PULSAR_TRIALS); hz += 2) {
		double x = x_of(fr, (double)hz * PULSAR_PER_HZ - PULSAR_FIRST);

		buf_printf(b,
		    "<path class=\"axis\" d=\"M%.1f %.1fv4\"/><text class=\"tick\" x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\">%d</text>\n",
		    x, base, x, base + 17, hz);
	}
	buf_printf(b,
	    "<text transform=\"translate(%.1f %.1f) rotate(-90)\" text-anchor=\"middle\">SNR</text>\n",
	    fr->x - 38, fr->y + PANEL_H / 2.0);
	if (last)
		buf_printf(b,
		    "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\">frequency (Hz)</text>\n",
		    fr->x + PANEL_W / 2.0, base + 35);
}

/* One point per pixel: the best of its trials. Shades the trials that were not
 * searched. */
static void put_line(struct buf *b, const struct frame *fr, const struct stretch *st)
{
	bool pen = false;

	for (int32_t k = 0, to; k < PULSAR_TRIALS; k = to) {
		for (to = k; to < PULSAR_TRIALS && st->seen[to] == 0; to++)
			;
		if (to > k)
			buf_printf(b,
			    "<rect class=\"gap\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%d\"><title>not searched</title></rect>\n",
			    x_of(fr, k), fr->y, x_of(fr, to) - x_of(fr, k), PANEL_H);
		for (; to < PULSAR_TRIALS && st->seen[to] != 0; to++)
			;
	}
	buf_puts(b, "<path class=\"line\" d=\"");
	for (int32_t px = 0; px < PANEL_W; px++) {
		int32_t from = px * PULSAR_TRIALS / PANEL_W;
		int32_t to = (px + 1) * PULSAR_TRIALS / PANEL_W;
		double best = -1;

		for (int32_t k = from; k < to; k++)
			if (st->seen[k] != 0)
				best = fmax(best, fmax(st->snr[k], 0));
		if (best >= 0)
			buf_printf(b, "%s%.1f %.1f", pen ? "L" : "M", fr->x + px + 0.5,
			    y_of(fr, best));
		pen = best >= 0;
	}
	buf_puts(b, "\"/>\n");
}

static void put_peak(struct buf *b, const struct frame *fr, const struct candidate *c)
{
	double x = x_of(fr, c->trial), y = y_of(fr, c->snr);
	bool left = x + LABEL_W > fr->x + PANEL_W;

	buf_printf(b,
	    "<circle class=\"peak\" cx=\"%.1f\" cy=\"%.1f\" r=\"5\"/><text class=\"mark\" x=\"%.1f\" y=\"%.1f\"%s>%.3f Hz, SNR %.1f</text>\n",
	    x, y, left ? x - 11 : x + 11, y + 4, left ? " text-anchor=\"end\"" : "",
	    c->hz, c->snr);
}

static void put_head(
    struct buf *b, const struct sky *s, int height, uint64_t seed, bool hidden)
{
	const struct candidate *c = &s->best;
	char name[PULSAR_NAME_SIZE];

	pulsar_name(name, c->file);
	buf_printf(b,
	    "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" width=\"%d\" height=\"%d\" role=\"img\" aria-labelledby=\"t d\">\n"
	    "<title id=\"t\">Periodogram of %u data files</title>\n"
	    "<desc id=\"d\">Signal-to-noise ratio over frequency, one panel per file. The strongest candidate is at %.3f Hz in %s with a ratio of %.1f; it is %sthe hidden signal.</desc>\n%s<rect class=\"bg\" width=\"%d\" height=\"%d\"/>\n",
	    WIDTH, height, WIDTH, height, s->nfiles, c->hz, name, c->snr,
	    hidden ? "" : "not ", style, WIDTH, height);
	buf_printf(b,
	    "<text class=\"head\" x=\"24\" y=\"34\">Strongest candidate: %.3f Hz in %s</text>\n"
	    "<text x=\"24\" y=\"56\">Signal-to-noise ratio (SNR) of the power in %d harmonics, searched from %g to %g Hz in steps of %g mHz. Seed %llu: %s.</text>\n",
	    c->hz, name, c->harmonics, pulsar_hz(0), pulsar_hz(PULSAR_TRIALS),
	    1000.0 / PULSAR_PER_HZ, (unsigned long long)seed,
	    hidden ? "this is the hidden signal" : "this is not the hidden signal");
}

void sky_plot(struct buf *b, const struct sky *s, uint64_t seed, bool hidden)
{
	int rows = ((int)s->nfiles + 1) / 2;
	struct frame fr;

	fr.tick = tick_of(fmax(s->best.snr, 1));
	fr.top = fmax(s->best.snr, 1) * 1.15; /* room for the mark */
	put_head(
	    b, s, TOP + rows * PITCH_Y + BOTTOM - (PITCH_Y - PANEL_H), seed, hidden);
	for (uint32_t i = 0; i < s->nfiles; i++) {
		char name[PULSAR_NAME_SIZE];

		fr.x = LEFT + (i % 2) * PITCH_X;
		fr.y = TOP + (i / 2) * PITCH_Y;
		pulsar_name(name, i);
		buf_printf(b, "<text class=\"name\" x=\"%.1f\" y=\"%.1f\">%s</text>\n",
		    fr.x, fr.y - 8, name);
		put_axes(b, &fr, i + 2 >= s->nfiles);
		put_line(b, &fr, &s->file[i]);
		if (i == s->best.file)
			put_peak(b, &fr, &s->best);
	}
	buf_puts(b, "</svg>\n");
}
