/* SPDX-License-Identifier: Apache-2.0 */
#include "model/decision.h"

#include "lib/banned.h"

const char *
send_how_name(enum send_how how)
{
	static const char *const names[] = {
		[SEND_LOST] = "lost",
		[SEND_TARGETED] = "targeted",
		[SEND_OLD] = "old",
		[SEND_HELD] = "held",
		[SEND_WORKING_SET] = "set",
		[SEND_SEARCHED] = "searched",
		[SEND_PLAIN] = "plain",
	};

	return names[how];
}

const char *
replication_name(enum replication r)
{
	static const char *const names[] = {
		[REPLICATION_FIXED] = "",
		[REPLICATION_ALONE] = "ALONE",
		[REPLICATION_UNTRUSTED] = "UNTRUSTED",
		[REPLICATION_SPOT_CHECK] = "SPOT_CHECK",
	};

	return names[r];
}

const char *
file_state_name(enum file_state state)
{
	static const char *const names[] = {
		[FILE_ADVERTISED] = "ADVERTISED",
		[FILE_DRAINING] = "DRAINING",
		[FILE_EXHAUSTED] = "EXHAUSTED",
		[FILE_DEAD] = "DEAD",
	};

	return names[state];
}
