/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Pages of tools/drystone/pages, as text; the build makes it of them. Data go in place of the comment DATA. */
#ifndef DRYSTONE_PAGE_H
#define DRYSTONE_PAGE_H

extern const char page_flame[];

#endif
