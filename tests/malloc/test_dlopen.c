/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Allocation inside dlopen and dlclose: a plugin whose constructor and destructor allocate,
 * which has thread-local data, and whose blocks outlive it.
 */
#define _GNU_SOURCE 1
#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>

#include "../support/check.h"
#include "../support/pattern.h"
#include "../support/plugin.h"
#include "../support/random.h"

static const char source[] = "#include <stdlib.h>\n"
			     "#include <string.h>\n"
			     "static void *early[200]; static __thread char *mine; static __thread char room[3000];\n"
			     "__attribute__((constructor)) static void up(void) {\n"
			     "	for (int i = 0; i < 200; i++) { early[i] = malloc((size_t)i * 37 + 1);\n"
			     "		memset(early[i], i, (size_t)i * 37 + 1); } }\n"
			     "__attribute__((destructor)) static void down(void) {\n"
			     "	for (int i = 0; i < 200; i++) { if (*(char *)early[i] != (char)i) abort(); free(early[i]); }\n"
			     "	free(malloc(100000)); }\n"
			     "void *plugin_get(size_t size) { free(mine); mine = malloc(100); memset(mine, 1, 100);\n"
			     "	memset(room, 1, sizeof(room)); return malloc(size); }\n"
			     "void plugin_done(void) { free(mine); mine = NULL; }\n";

static char library[64];

static void use_plugin(struct rng *rng, int rounds)
{
	void *kept[100];

	for (int round = 0; round < rounds; round++) {
		void *handle = dlopen(library, RTLD_NOW | (round % 2 ? RTLD_LOCAL : RTLD_GLOBAL));
		void *(*get)(size_t size);
		void (*done)(void);

		if (!handle)
			fprintf(stderr, "%s\n", dlerror());
		CHECK(handle);
		*(void **)&get = dlsym(handle, "plugin_get");
		*(void **)&done = dlsym(handle, "plugin_done");
		CHECK(get && done);
		for (int i = 0; i < 100; i++) {
			size_t size = rng_size(rng, 12);

			CHECK(kept[i] = get(size));
			pattern_fill_key(kept[i], size < 8 ? size : 8, 5);
		}
		done();
		CHECK(!dlclose(handle));
		for (int i = 0; i < 100; i++) /* blocks of the closed plugin are ordinary blocks */
			free(kept[i]);
		CHECK(!dlopen("/nonexistent/plugin.so", RTLD_NOW)); /* allocates its error text */
		CHECK(dlerror());
	}
}

static void *thread(void *arg)
{
	struct rng rng = { (uint64_t)(uintptr_t)arg };

	use_plugin(&rng, (int)test_scaled(150));
	return NULL;
}

int main(int argc, char **argv)
{
	uint64_t seed = test_seed(argc, argv);
	struct rng rng = { seed };
	pthread_t threads[4];

	plugin_build(library, sizeof(library), "plugin", source, "");
	use_plugin(&rng, (int)test_scaled(200));
	for (uintptr_t i = 0; i < 4; i++)
		CHECK(!pthread_create(&threads[i], NULL, thread, (void *)(uintptr_t)(seed + i + 1)));
	for (int i = 0; i < 4; i++)
		CHECK(!pthread_join(threads[i], NULL));
	CHECK(!unlink(library));
	CHECK(!rmdir(plugin_directory));
	return 0;
}
