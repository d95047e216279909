/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#ifndef DRYSTONE_RUN_H
#define DRYSTONE_RUN_H

#include <stdbool.h>

struct run_profile {
	const char *output; /* NULL: no profile is wanted */
	char folder[200], conf[256];
};

/* A folder for what the library writes, and the options that make it do so. false after a message. */
bool run_profile_begin(struct run_profile *profile);
/* Run the program, then show its profile. The exit status. */
int run_profile_program(const struct run_profile *profile, char **argv);

#endif
