/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* host PLUGIN...: loads plug-ins; each default heap is another, also than the host's; threads and a fork use all. */
#include <dlfcn.h>
#include <drystone/drystone.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static int (*work[8])(void);
static int plugins;

static void *use_all(void *arg)
{
	int i, round;

	for (round = 0; round < 20; round++)
		for (i = 0; i < plugins; i++)
			if (work[i]() != 0)
				exit(3);
	return arg;
}

int main(int argc, char **argv)
{
	dry_heap *heaps[9] = { dry_heap_default() };
	pthread_t thread;
	int i, j, status;

	for (i = 1; i < argc && i < 8; i++) {
		void *handle = dlopen(argv[i], RTLD_NOW | RTLD_LOCAL);
		dry_heap *(*heap)(void);

		if (handle == NULL) {
			fprintf(stderr, "%s\n", dlerror());
			return 1;
		}
		*(void **)&heap = dlsym(handle, "plugin_heap");
		*(void **)&work[plugins++] = dlsym(handle, "plugin_work");
		heaps[i] = heap();
		for (j = 0; j < i; j++)
			if (heaps[j] == heaps[i])
				return 2;
		dlclose(handle); /* it stays: -z nodelete */
	}
	if (pthread_create(&thread, NULL, use_all, NULL) != 0)
		return 1;
	use_all(NULL);
	if (fork() == 0) {
		use_all(NULL);
		_exit(0);
	}
	pthread_join(thread, NULL);
	if (wait(&status) < 0 || status != 0)
		return 4;
	printf("%d plug-ins\n", plugins);
	return 0;
}
