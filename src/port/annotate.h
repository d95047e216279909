/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* What a port may offer beyond contract.h: a memory checker that watches the process. */
#ifndef DRY_PORT_ANNOTATE_H
#define DRY_PORT_ANNOTATE_H

#include "base/annotate.h"
#include "base/compiler.h"

/* The table of the checker; NULL if none watches. A port that knows none lacks the call. */
DRY_WEAK const struct dry_annotations *dry_port_annotations(void);

#endif
