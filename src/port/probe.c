/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#include "port/probe.h"

#ifdef DRY_PROBE_NOTE
/* Their section's name is the one that tracers of sys/sdt.h know. */
#define DRY_PROBE_DEFINE(provider, name) \
	volatile unsigned short dry_probe_##provider##_##name DRY_HIDDEN __attribute__((section(".probes")));
DRY_PROBES(DRY_PROBE_DEFINE)
#endif
