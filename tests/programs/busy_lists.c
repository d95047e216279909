/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Threads that make their lists longer and shorter while the process ends: nothing of them is lost at any moment. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

struct node {
	struct node *next;
	char rest[100];
};

static void *work(void *arg)
{
	unsigned random = (unsigned)(size_t)arg;
	struct node *list = NULL;
	int length = 0;

	for (;;) {
		random = random * 1103515245 + 12345;
		if ((random >> 16) % 3 != 0 && length < 300) {
			struct node *node = malloc(sizeof(*node) + (random >> 16) % 5000);
			memset(node, 0, sizeof(*node));
			node->next = list;
			list = node;
			length++;
		} else if (list != NULL) {
			struct node *node = list;
			list = node->next;
			free(node);
			length--;
		}
	}
	return NULL;
}

int main(int argc, char **argv)
{
	int threads = argc > 1 ? atoi(argv[1]) : 1, status = 0;
	pid_t child = 1;

	for (int i = 0; i < threads; i++) {
		pthread_t thread;
		if (pthread_create(&thread, NULL, work, (void *)(size_t)(i + 1)) != 0)
			return 1;
	}
	usleep(100000);
	if (argc > 2)
		child = fork();
	if (argc > 2 && child > 0)
		waitpid(child, &status, 0);
	return status != 0;
}
