/* SPDX-License-Identifier: Apache-2.0 */
/* How the files of units.h are recognised as ours. */
#ifndef TOOLS_UNITS_MARK_H
#define TOOLS_UNITS_MARK_H

#define UNITS_MARK    "# Made by locus" /* begins each file */
#define UNITS_DROP_IN "10-locus.conf"   /* name of our drop-ins */

#endif
