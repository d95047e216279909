/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Who includes this brings the text of reports along: hooks.c refers to it weakly, so that from an archive it would come only for
 * somebody else.
 */
#ifndef DRY_TINY_REPORTS_H
#define DRY_TINY_REPORTS_H

#include "tiny/tiny.h"

static void (*const dry_tiny_reports)(const struct dry_owner *, const void *) DRY_USED = dry_tiny_say_pointer;

#endif
