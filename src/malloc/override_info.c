/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* glibc's ways to ask and to tune: mallinfo, malloc_stats, malloc_info, malloc_trim, mallopt. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include <drystone/drystone.h>

#include "base/compiler.h"
#include "malloc/print.h"
#include "port/mallinfo.h"

DRY_REPLACEABLE void malloc_stats(void)
{
	dry_print_stats();
}

/* As glibc counts: big blocks (hblkhd) beside the arena, in which what is not in use is free. */
DRY_REPLACEABLE struct mallinfo2 mallinfo2(void)
{
	struct mallinfo2 info = { 0 };
	struct dry_heap_stats stats;

	if (dry_heap_stats(NULL, &stats) != 0)
		return info;
	struct dry_totals totals = dry_totals_of(&stats);
	info.hblkhd = totals.big;
	info.uordblks = totals.small;
	info.fordblks = totals.free;
	info.arena = totals.small + totals.free;
	info.keepcost = totals.kept;
	return info;
}

static int clamp(size_t bytes)
{
	return bytes > INT_MAX ? INT_MAX : (int)bytes;
}

DRY_REPLACEABLE struct mallinfo mallinfo(void)
{
	struct mallinfo2 wide = mallinfo2();
	struct mallinfo info = { 0 };

	info.arena = clamp(wide.arena);
	info.hblkhd = clamp(wide.hblkhd);
	info.uordblks = clamp(wide.uordblks);
	info.fordblks = clamp(wide.fordblks);
	info.keepcost = clamp(wide.keepcost);
	return info;
}

/* What XML 1.0 cannot have in an attribute's value as it is, or at all. */
static void print_name(FILE *file, const char *name)
{
	for (; *name != '\0'; name++)
		if (strchr("<>&\"'", *name) != NULL)
			fprintf(file, "&#%d;", *name);
		else
			fputc((unsigned char)*name < ' ' || (unsigned char)*name > '~' ? '?' : *name, file);
}

static int print_cache(dry_cache *cache, void *arg)
{
	FILE *file = arg;
	struct dry_cache_stats s;

	if (dry_cache_stats(cache, &s) != 0)
		return 0;
	fputs("<cache name=\"", file);
	print_name(file, s.name);
	fprintf(file, "\" size=\"%zu\" active=\"%zu\" objects=\"%zu\" slabs=\"%zu\"/>\n", s.stride, s.active_objects, s.objects,
		s.slabs);
	return 0;
}

DRY_REPLACEABLE int malloc_info(int options, FILE *file)
{
	struct mallinfo2 info;

	if (options != 0) {
		errno = EINVAL;
		return -1;
	}
	fputs("<malloc version=\"drystone-1\">\n", file);
	dry_heap_for_each_cache(NULL, print_cache, file);
	/* totals, in elements that readers of glibc's know */
	info = mallinfo2();
	fprintf(file,
		"<total type=\"live\" size=\"%zu\"/>\n<total type=\"rest\" size=\"%zu\"/>\n"
		"<total type=\"mmap\" size=\"%zu\"/>\n<system type=\"current\" size=\"%zu\"/>\n",
		info.uordblks + info.hblkhd, info.fordblks, info.hblkhd, info.arena + info.hblkhd);
	fputs("</malloc>\n", file);
	return ferror(file) ? -1 : 0;
}

DRY_REPLACEABLE int malloc_trim(size_t pad)
{
	/* so much may stay: some programs ask again and again, and what is idle would be missed at once */
	if (pad != 0 && mallinfo2().fordblks <= pad)
		return 0;
	return dry_heap_trim(NULL) != 0;
}

/* Nothing of glibc's can be tuned here; programs expect success all the same. */
DRY_REPLACEABLE int mallopt(int param, int value)
{
	(void)param;
	(void)value;
	return 1;
}
