/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The last include of every .c file outside lib/: calls that overflow buffers, bypass
 * the arena or read the outside world from within a rule do not compile.
 */
#ifndef LIB_BANNED_H
#define LIB_BANNED_H

#define BANNED(f) use_the_project_helper_instead_of_##f

/* instead: buf_puts(), buf_printf(), arena_printf() */
#undef strcpy
#undef strcat
#undef strncpy
#undef strncat
#undef sprintf
#undef vsprintf
#undef gets
#define strcpy(a, b)     BANNED(strcpy)
#define strcat(a, b)     BANNED(strcat)
#define strncpy(a, b, n) BANNED(strncpy)
#define strncat(a, b, n) BANNED(strncat)
#define sprintf(...)     BANNED(sprintf)
#define vsprintf(...)    BANNED(vsprintf)
#define gets(s)          BANNED(gets)

/*
 * instead: a field table, or strtoll() and strtod() with a check of where they stopped
 */
#undef strtok
#undef atoi
#undef atol
#undef atoll
#undef atof
#define strtok(s, d) BANNED(strtok)
#define atoi(s)      BANNED(atoi)
#define atol(s)      BANNED(atol)
#define atoll(s)     BANNED(atoll)
#define atof(s)      BANNED(atof)

/* instead: proc_collect() */
#undef system
#undef popen
#define system(c)   BANNED(system)
#define popen(c, m) BANNED(popen)

/* instead: arena_alloc(), arena_strdup(); the arena frees */
#undef malloc
#undef calloc
#undef realloc
#undef free
#undef strdup
#undef strndup
#undef alloca
#define malloc(n)     BANNED(malloc)
#define calloc(n, m)  BANNED(calloc)
#define realloc(p, n) BANNED(realloc)
#define free(p)       BANNED(free)
#define strdup(s)     BANNED(strdup)
#define strndup(s, n) BANNED(strndup)
#define alloca(n)     BANNED(alloca)

/* instead: clock_now(), once per RPC or step; clock_text() */
#undef time
#undef gettimeofday
#undef clock_gettime
#undef localtime
#undef gmtime
#undef ctime
#define time(p)             BANNED(time)
#define gettimeofday(t, z)  BANNED(gettimeofday)
#define clock_gettime(c, t) BANNED(clock_gettime)
#define localtime(t)        BANNED(localtime)
#define gmtime(t)           BANNED(gmtime)
#define ctime(t)            BANNED(ctime)

/* instead: rng_next(); random_bytes() for secrets */
#undef rand
#undef srand
#undef random
#undef srandom
#undef drand48
#define rand()     BANNED(rand)
#define srand(n)   BANNED(srand)
#define random()   BANNED(random)
#define srandom(n) BANNED(srandom)
#define drand48()  BANNED(drand48)

/* instead: return an enum err; only main() ends the process, by returning */
#undef exit
#undef abort
#define exit(n) BANNED(exit)
#define abort() BANNED(abort)

#endif
