/* SPDX-License-Identifier: Apache-2.0 */
/* Passwords of accounts: read from a file, or made; never on the command line. */
#ifndef TOOLS_USER_H
#define TOOLS_USER_H

#include "tools/cmd.h"

#endif
