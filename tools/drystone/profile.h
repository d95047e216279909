/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Heap profiles: read from a process, a core file or a file that the library wrote, symbolised, and shown.
 *
 *   profile_read.c -> struct profile -> profile_symbols.c -> profile_show.c, profile_pb.c
 */
#ifndef DRYSTONE_PROFILE_H
#define DRYSTONE_PROFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "target.h"

enum profile_value { LIVE_OBJECTS, LIVE_BYTES, ALL_OBJECTS, ALL_BYTES, PROFILE_VALUES };

/* As sampled, until profile_scale(). */
struct profile_site {
	uint64_t class_size;
	char name[64]; /* of the cache; "": a general one, or none */
	bool big;
	uint32_t count;
	uint64_t *frame; /* return addresses, innermost first */
	double value[PROFILE_VALUES];
};

/* One function at an address; an address has several where some are inlined. */
struct profile_function {
	char *name, *file; /* file NULL: not known */
	int line;
};

struct profile_address {
	uint64_t address;
	size_t map; /* number of its mapping; SIZE_MAX: none */
	struct profile_function *function; /* innermost first; at least one */
	size_t count;
};

struct profile {
	double mean;
	bool on; /* samples are being taken */
	struct profile_site *site;
	size_t count;
	struct target_map *map;
	size_t map_count;
	char root[32]; /* of a process: "/proc/PID/root", for the files of the maps; "": they are those of their names */
	struct profile_address *address; /* of all frames, ascending; by profile_symbolise() */
	size_t address_count;
	double seconds; /* that it took; 0: not known */
};

/* What a process or core file holds now. NULL, or why there is nothing. */
const char *profile_read(struct profile *profile, const struct target *target, const struct dry_inspect *layout);
/* A file of option profile_file. NULL, or what is wrong with it. */
const char *profile_read_file(struct profile *profile, FILE *file);
/* profile.c: such a file, or a profile.proto: scaled, and with its functions. NULL, or what is wrong with it. By input_open(). */
const char *profile_load(struct profile *profile, FILE *file);
/* Leave what was allocated before out: `before` is an earlier reading of the same process. */
void profile_since(struct profile *profile, const struct profile *before);
/* From samples to what they stand for. */
void profile_scale(struct profile *profile);
void profile_free(struct profile *profile);

/* profile.c: whether a profile can be written there, to be asked before there is one; false after a message. */
bool profile_can_write(const char *path);
/* profile.c: a file of option profile_file to one of another kind, by the end of its name. The exit status. */
int profile_show_file(const char *from, const char *output);

void profile_symbolise(struct profile *profile);
const struct profile_address *profile_find(const struct profile *profile, uint64_t address);
/* What the blocks of a site come from: "kmalloc-64", "big". */
const char *profile_cache(const struct profile_site *site, char *text, size_t size);

/* value: LIVE_BYTES or ALL_BYTES */
void profile_print(const struct profile *profile, enum profile_value value, FILE *out);
void profile_print_folded(const struct profile *profile, enum profile_value value, FILE *out);
void profile_print_page(const struct profile *profile, enum profile_value value, const char *title, FILE *out);
/* Gzipped profile.proto with all values; pprof shows `value` first. Built without zlib, nothing. */
void profile_print_pb(const struct profile *profile, enum profile_value value, FILE *out);
bool profile_has_pb(void);
/* Such a file, unpacked; NULL: none, errno says why. */
unsigned char *profile_load_pb(FILE *from, size_t *size);

/* profile_pb_read.c: such a file, with its names and scaled as it was. NULL, or what is wrong with it. */
const char *profile_read_pb(struct profile *profile, FILE *file);

#endif
