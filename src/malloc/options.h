/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Options: one table defines them, DRYSTONE_CONF="name:value,name:value" sets
 * them when the library is loaded; dry_ctl() sets those that may change while the process runs.
 */
#ifndef DRY_MALLOC_OPTIONS_H
#define DRY_MALLOC_OPTIONS_H

#include <stdbool.h>

#ifndef DRY_ANNOTATE
#define DRY_ANNOTATE true /* default of the option; the build for our own sanitizer tests says false */
#endif

#define DRY_OPTION_PATH   256 /* room for a path */
#define DRY_OPTION_SOCKET 100 /* for that of a socket: 108, less what the number of the process takes */

extern bool dry_option_check;         /* know which blocks the program has, and look at each free */
extern bool dry_option_stats;         /* print the slab listing at exit */
extern bool dry_option_annotate;      /* tell a memory checker that watches the process of blocks and objects */
extern bool dry_option_deepbind;      /* libraries that ask for RTLD_DEEPBIND get it */
extern bool dry_option_leaks;         /* list what debugged caches still hold at exit */
extern char dry_option_leaks_file[DRY_OPTION_PATH]; /* where lost blocks are listed at exit; "": nowhere */
extern bool dry_option_background;    /* return memory from a helper thread */
extern bool dry_option_exit_check;   /* look for damage when the process ends */
extern bool dry_option_guard;        /* guard a sample of allocations */
extern unsigned dry_option_guard_rate; /* every how many allocations, on average; 1 to 10^9 */
extern unsigned dry_option_profile;   /* bytes between two samples of a heap profile, on average; 0: none */
extern unsigned dry_option_profile_signal; /* it writes the profile; 0: none does */
extern char dry_option_profile_file[DRY_OPTION_PATH];  /* where to; "": nowhere */
extern char dry_option_metrics[DRY_OPTION_PATH]; /* file of metrics, or unix:SOCKET; "": none */
extern unsigned dry_option_metrics_ms;           /* how long the file stays as it is, 10 to 3600000 */
extern bool dry_option_secure;       /* the hardening profile */
extern unsigned dry_option_decay_ms;  /* how long free memory is kept, 10 to 3600000 */

/* As if nothing had been said of files with figures, profiles and leaks. */
void dry_options_write_nothing(void);

/* Parse; unknown names and bad values give one warning each, which says what would be good, and the default stays. */
void dry_options_parse(const char *conf);
/* Set one while the process runs. 0; -EINVAL: there is none such, or a bad value; -EBUSY: at start only. */
int dry_options_set(const char *name, const char *value);

#endif
