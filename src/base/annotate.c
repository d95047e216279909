/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#include "base/annotate.h"

const struct dry_annotations *dry_annotate;
