// SPDX-License-Identifier: MIT OR GPL-2.0-only
/* So many threads that allocate and free the same few blocks for ever: each call is a hit. `idle`: it sleeps.
 * `leave MS`: one thread, which is not the first one; that one ends then. SIGUSR1: it becomes sleep(1); SIGUSR2: others may not
 * read its memory any more. */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

static void change(int signal)
{
	if (signal == SIGUSR1)
		execlp("sleep", "sleep", "60", (char *)NULL);
	prctl(PR_SET_DUMPABLE, 0);
}

static void *work(void *arg)
{
	for (unsigned turn = 0;; turn++) {
		void *small = malloc(100), *other = realloc(calloc(1, 500), 700);
		if (turn == 1000 && arg != NULL)
			puts("steady");
		fflush(stdout);
		free(small);
		free(other);
		usleep(20);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t thread;

	signal(SIGUSR1, change);
	signal(SIGUSR2, change);
	if (argc > 1 && strcmp(argv[1], "idle") == 0) {
		puts("steady");
		fflush(stdout);
		pause();
	}
	if (argc > 2 && strcmp(argv[1], "leave") == 0) {
		pthread_create(&thread, NULL, work, argv);
		usleep((useconds_t)atoi(argv[2]) * 1000);
		pthread_exit(NULL);
	}
	for (int i = argc > 1 ? atoi(argv[1]) : 1; i > 1; i--)
		pthread_create(&thread, NULL, work, NULL);
	work(argv);
}
