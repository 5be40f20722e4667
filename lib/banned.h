/* SPDX-License-Identifier: Apache-2.0 */
/* Calls that the tree does without.  The last include of every .c outside lib/. */
#ifndef LIB_BANNED_H
#define LIB_BANNED_H

#define BANNED(f) use_the_project_helper_instead_of_##f
#undef strcpy
#define strcpy(...) BANNED(strcpy)
#undef strcat
#define strcat(...) BANNED(strcat)
#undef sprintf
#define sprintf(...) BANNED(sprintf)
#undef malloc
#define malloc(...) BANNED(malloc)
#undef free
#define free(...) BANNED(free)
#undef atoi
#define atoi(...) BANNED(atoi)

#endif
