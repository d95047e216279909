/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* What drystone doctor found, in the order in which it is said. */
#ifndef DRYSTONE_DOCTOR_H
#define DRYSTONE_DOCTOR_H

#include <stdbool.h>
#include <sys/types.h>

/* NO: drystone does not serve the program for this reason. */
enum level { LEVEL_OK, LEVEL_NOTE, LEVEL_NO };

/* area: "program", "process" or "machine"; key: one word that does not change from version to version. */
void doctor_say(const char *area, enum level level, const char *key, const char *format, ...)
	__attribute__((format(printf, 4, 5)));

/* doctor_program.c: a program file; false: there is none, or it cannot be read. */
bool doctor_program(const char *path);
/* doctor_process.c: a running process. false: there is none, or it cannot be read. */
bool doctor_process(pid_t pid);
/* doctor_machine.c: what the machine gives to this process, or to `pid` where limits are concerned. */
void doctor_machine(pid_t pid);

#endif
