/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#include "port/contract.h"
#include "port/unix/resend.h"
#include "port/stack.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

extern char **environ;
unsigned long getauxval(unsigned long type) DRY_WEAK; /* Linux, FreeBSD */
#define BASE 7 /* of the dynamic linker */

const char *dry_port_getenv(const char *name)
{
	if (getuid() != geteuid() || getgid() != getegid())
		return NULL;
	return getenv(name);
}

bool dry_port_has_environment(void)
{
	return environ != NULL && &getauxval != NULL && getauxval(BASE) != 0;
}

/* POSIX has no number for a thread: the order in which they asked. */
uint32_t dry_port_thread(void)
{
	static _Atomic uint32_t last;
	static _Thread_local uint32_t mine;

	if (mine == 0)
		mine = atomic_fetch_add_explicit(&last, 1, memory_order_relaxed) + 1;
	return mine;
}

void dry_port_sleep_ms(unsigned ms)
{
	struct timespec left = { (time_t)(ms / 1000), (long)(ms % 1000) * 1000000 };
	int saved = errno, cancel;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel); /* free() must not become a cancellation point */
	while (nanosleep(&left, &left) != 0 && errno == EINTR)
		;
	pthread_setcancelstate(cancel, NULL);
	errno = saved;
}

_Noreturn void dry_port_park(void)
{
	for (;;)
		dry_port_sleep_ms(1000);
}

void dry_port_yield(void)
{
	int saved = errno;

	sched_yield();
	errno = saved;
}

int dry_unix_real_sigaction(int signal, const struct sigaction *action, struct sigaction *old)
{
	return sigaction(signal, action, old);
}

void dry_unix_resend(int signal, const siginfo_t *info)
{
	(void)info;
	raise(signal);
}
