/* SPDX-License-Identifier: Apache-2.0 */
#include "client/control/gui.h"

#include <string.h>
#include "lib/text.h"
#include "lib/xml.h"
#include "proto/normalise.h"
#include "lib/banned.h"

char *
gui_argument(const struct gui_call *g, const char *name)
{
	char *text = xml_between(&g->c->scratch, g->text, name);

	return text == NULL ?
	           NULL :
	           text_trim(text_decode(&g->c->scratch, text, strlen(text)));
}
