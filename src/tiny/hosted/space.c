/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Apart from who reads them: there a compiler would take these values for those of a stronger definition, too. */
#include "tiny/tiny.h"

/* A heap that was told nothing takes so much address space, or half as long as that is refused; memory follows use. */
DRY_WEAK const size_t dry_tiny_space = (size_t)250 << 20;
DRY_WEAK const size_t dry_tiny_page = 0;
