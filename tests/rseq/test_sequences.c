/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Every instruction of every restartable sequence is aborted, as machine code: by preemption, by
 * migration to another CPU, and by a signal whose handler uses the same arrays; the traced program
 * (workload.c) verifies that nothing is lost or doubled. The instructions that announce a sequence, from where its
 * abort handler goes back to, are interrupted in the same ways.
 *
 * A process that is stopped inside of a sequence was preempted there, so it cannot be stepped through
 * one. The instructions are therefore learnt first from a process without restartable sequences, which runs
 * the same code on slots of its threads: single-stepped from where each begins. The learnt
 * places must follow each other without a gap up to the committing instruction; so nothing can
 * be missed. Then, in a process with restartable sequences, each place gets a breakpoint. At a hit the
 * instruction is put back, and the process goes on at it in one of the three ways; that it then
 * is at its abort handler, and not behind the instruction, is verified. As it begins anew there, it meets the next place.
 *
 * A copy is also aborted after half of its words: the tracer copies them in its place.
 *
 * All that with check:1 and with a heap profile, too, whose hits have sequences of their own; and those that are left, as some end
 * where a countdown is over at once, with a profile that samples most: each has to be run in one of them.
 *
 * sequences [SEED]: all. sequences --only CONF: one of them, for each is a test of its own (an emulator takes long); the last of
 * them learns in the others, too, what is left. All of a day have one seed, so that they learn the same.
 */
#include <elf.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/auxv.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <time.h>

#include "../support/check.h"
#include "../support/random.h"
#include "machine.h"
#include "sequences.h"

enum mode { PREEMPT, MIGRATE, SIGNAL, MODES };
static const char *const mode_name[] = { "preemption", "migration", "signal" };

struct tracee {
	pid_t pid;
	uintptr_t shift; /* to be added to an address of ours */
};

static int cpus[CPU_SETSIZE], cpu_count;
static unsigned long aborts[MODES], halves;
static const char *conf;            /* of the traced process */
static bool learnt[MOST_SEQUENCES]; /* in one of them */

extern const unsigned int __rseq_size __attribute__((weak));

static bool restartable(void)
{
	return &__rseq_size && __rseq_size != 0;
}

/* ---- the traced process ---------------------------------------------------------------------------- */

static struct user_regs_struct registers(const struct tracee *t)
{
	struct user_regs_struct regs;
	struct iovec all = { &regs, sizeof(regs) };

	CHECK(!ptrace(PTRACE_GETREGSET, t->pid, (long)NT_PRSTATUS, &all));
	return regs;
}

static void set_registers(const struct tracee *t, struct user_regs_struct *regs)
{
	struct iovec all = { regs, sizeof(*regs) };

	CHECK(!ptrace(PTRACE_SETREGSET, t->pid, (long)NT_PRSTATUS, &all));
}

static long peek(const struct tracee *t, uintptr_t at)
{
	errno = 0;
	long word = ptrace(PTRACE_PEEKDATA, t->pid, at, NULL);

	CHECK(!errno);
	return word;
}

static void poke(const struct tracee *t, uintptr_t at, long word)
{
	CHECK(!ptrace(PTRACE_POKEDATA, t->pid, at, word));
}

/* As much of an instruction as a breakpoint takes the place of. */
static unsigned long code_at(const struct tracee *t, uintptr_t at)
{
	return (unsigned long)peek(t, at) & TRAP_MASK;
}

static void set_code(const struct tracee *t, uintptr_t at, unsigned long code)
{
	poke(t, at, (long)(((unsigned long)peek(t, at) & ~TRAP_MASK) | code));
}

/* Stopped by a breakpoint: the registers as in front of it. */
static struct user_regs_struct trapped(const struct tracee *t)
{
	struct user_regs_struct regs = registers(t);

	regs.PC -= TRAP_ADVANCES;
	return regs;
}

/* Let it run until it stops; the signal that stopped it. 0: it ended well. Who stops us all for a while stops nothing here. */
static int go_on(const struct tracee *t, enum __ptrace_request how, int sig)
{
	int status;

	do {
		CHECK(!ptrace(how, t->pid, NULL, (long)sig));
		CHECK(waitpid(t->pid, &status, 0) == t->pid);
		sig = 0;
	} while (WIFSTOPPED(status) && (WSTOPSIG(status) == SIGSTOP || WSTOPSIG(status) == SIGCONT));
	if (WIFEXITED(status)) {
		CHECK_EQ(WEXITSTATUS(status), 0);
		return 0;
	}
	CHECK(WIFSTOPPED(status));
	if (WSTOPSIG(status) != SIGTRAP)
		fprintf(stderr, "stopped by signal %d at %s\n", WSTOPSIG(status),
			place_name((uintptr_t)registers(t).PC - t->shift));
	CHECK(WSTOPSIG(status) == SIGTRAP || WSTOPSIG(status) == SIGUSR1);
	return WSTOPSIG(status);
}

static uintptr_t base_of(pid_t pid)
{
	char name[64], line[512], self[400];
	uintptr_t base = 0;
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
	FILE *maps;

	CHECK(n > 0);
	self[n] = '\0';
	snprintf(name, sizeof(name), "/proc/%d/maps", (int)pid);
	CHECK(maps = fopen(name, "r"));
	while (!base && fgets(line, sizeof(line), maps))
		if (strstr(line, self))
			base = strtoul(line, NULL, 16);
	fclose(maps);
	CHECK(base);
	return base;
}

/* Up to its first checkpoint. */
static struct tracee start(uint64_t seed, bool restartable, bool by_cpu)
{
	char number[32], tunables[] = "GLIBC_TUNABLES=glibc.pthread.rseq=0";
	struct tracee t;
	int status;

	snprintf(number, sizeof(number), "%llu", (unsigned long long)seed);
	t.pid = fork();
	CHECK(t.pid >= 0);
	if (!t.pid) {
		if (!restartable)
			putenv(tunables);
		CHECK(!setenv("DRYSTONE_CONF", conf, 1));
		CHECK(!ptrace(PTRACE_TRACEME, 0, NULL, NULL));
		execl("/proc/self/exe", "sequences", by_cpu ? "--by-cpu" : "--by-id", number, (char *)NULL);
		_exit(2);
	}
	CHECK(waitpid(t.pid, &status, 0) == t.pid && WIFSTOPPED(status));
	CHECK(!ptrace(PTRACE_SETOPTIONS, t.pid, NULL, (long)PTRACE_O_EXITKILL));
	t.shift = base_of(t.pid) - image_base();
	CHECK_EQ(go_on(&t, PTRACE_CONT, 0), SIGTRAP);
	return t;
}

static void finish(const struct tracee *t)
{
	poke(t, (uintptr_t)&work_over + t->shift, peek(t, (uintptr_t)&work_over + t->shift) | 1);
	CHECK_EQ(go_on(t, PTRACE_CONT, 0), 0);
}

/* ---- learning ------------------------------------------------------------------------------------------ */

static void learn_place(struct sequence *s, uintptr_t at, uintptr_t next)
{
	unsigned i = 0;

	while (i < s->places && s->place[i] < at)
		i++;
	if (i == s->places || s->place[i] != at) {
		CHECK(s->places < MOST_PLACES);
		memmove(&s->place[i + 1], &s->place[i], (s->places - i) * sizeof(s->place[0]));
		memmove(&s->falls_through[i + 1], &s->falls_through[i], (s->places - i) * sizeof(s->falls_through[0]));
		s->place[i] = at;
		s->falls_through[i] = false;
		s->places++;
	}
	/* What is behind and near is next, unless one lies between (see complete()). */
	if (next > at && next - at <= MOST_CODE)
		s->falls_through[i] = true;
}

/* From the first instruction of a sequence until it is left. */
static void step_through(const struct tracee *t, struct sequence *s)
{
	uintptr_t at = s->begin, next;

	do {
		CHECK_EQ(go_on(t, PTRACE_SINGLESTEP, 0), SIGTRAP);
		next = (uintptr_t)registers(t).PC - t->shift;
		learn_place(s, at, next);
		at = next;
	} while (at - s->begin < s->post - s->begin);
}

/* All instructions are known: each is followed by the next one, the last by the end. */
static bool complete(const struct sequence *s)
{
	for (unsigned i = 0; i < s->places; i++) {
		uintptr_t next = i + 1 < s->places ? s->place[i + 1] : s->post;

		if (!s->falls_through[i] || next - s->place[i] > MOST_CODE)
			return false;
	}
	return s->places && s->place[0] == s->begin;
}

/* Sequences that are not run have no places afterwards; nor have those that are known already, if they are not wanted. */
static void learn(uint64_t seed, bool only_new)
{
	enum { HITS = 100 }; /* looked at per sequence, at most */
	static unsigned long first[MOST_SEQUENCES];
	static unsigned hits[MOST_SEQUENCES];
	struct tracee t = start(seed, false, false);

	memset(hits, 0, sizeof(hits));
	for (unsigned i = 0; i < sequence_count; i++) {
		sequences[i].places = 0;
		first[i] = code_at(&t, sequences[i].begin + t.shift);
		set_code(&t, sequences[i].begin + t.shift, TRAP);
	}
	for (;;) {
		CHECK_EQ(go_on(&t, PTRACE_CONT, 0), SIGTRAP);
		struct user_regs_struct regs = trapped(&t);
		struct sequence *s = sequence_from((uintptr_t)regs.PC - t.shift);

		if (!s)
			break; /* the next checkpoint */
		unsigned i = (unsigned)(s - sequences);

		set_code(&t, (uintptr_t)regs.PC, first[i]);
		set_registers(&t, &regs);
		step_through(&t, s);
		if (++hits[i] < HITS)
			set_code(&t, s->begin + t.shift, TRAP);
	}
	for (unsigned i = 0; i < sequence_count; i++)
		if (hits[i] < HITS)
			set_code(&t, sequences[i].begin + t.shift, first[i]);
	finish(&t);
	for (unsigned i = 0; i < sequence_count; i++) {
		if (complete(&sequences[i]) && !(only_new && learnt[i]))
			learnt[i] = true;
		else
			sequences[i].places = 0;
	}
}

/* ---- aborting -------------------------------------------------------------------------------------------- */

/* A breakpoint on a place of a sequence. */
struct trap {
	unsigned left;      /* hits to come; 0: not set */
	unsigned long code; /* what belongs there */
};
static struct trap traps[MOST_SEQUENCES][MOST_PLACES];
static unsigned char aborted[MODES][MOST_SEQUENCES][MOST_PLACES];

/*
 * Sequences that the signal's handler was seen in. In the first round traps are in its way, too, and it is preempted there,
 * which uses them up: of a sequence with many places one or two would have a signal in a round. So from the second round on
 * they are taken away until it has done its work.
 */
static bool handled[MOST_SEQUENCES];
static bool traps_in_handler;

static void set_trap(const struct tracee *t, unsigned i, unsigned place)
{
	uintptr_t at = sequences[i].place[place] + t->shift;

	traps[i][place].code = code_at(t, at);
	CHECK(traps[i][place].code != TRAP);
	set_code(t, at, TRAP);
}

static void put_back(const struct tracee *t, unsigned i, unsigned place)
{
	set_code(t, sequences[i].place[place] + t->shift, traps[i][place].code);
}

static void put_all_back(const struct tracee *t, unsigned i)
{
	for (unsigned place = 0; place < sequences[i].places; place++)
		if (traps[i][place].left)
			put_back(t, i, place);
}

static void set_all_again(const struct tracee *t, unsigned i)
{
	for (unsigned place = 0; place < sequences[i].places; place++)
		if (traps[i][place].left)
			set_trap(t, i, place);
}

static void let_handler_run(const struct tracee *t)
{
	for (unsigned i = 0; i < sequence_count; i++)
		if (handled[i])
			put_all_back(t, i);
}

static void handler_has_run(const struct tracee *t)
{
	for (unsigned i = 0; i < sequence_count; i++)
		if (handled[i])
			set_all_again(t, i);
}

/* Whether a trap that is set lies there; its sequence and place. */
static bool trap_at(uintptr_t at, unsigned *i, unsigned *place)
{
	for (*i = 0; *i < sequence_count; ++*i)
		for (*place = 0; *place < sequences[*i].places; ++*place)
			if (traps[*i][*place].left && sequences[*i].place[*place] == at)
				return true;
	return false;
}

static int handler_at(const struct tracee *t)
{
	return (int)peek(t, (uintptr_t)&work_in_handler + t->shift);
}

/* Stopped in front of a copy: as if half of it had been done. */
static void copy_half(const struct tracee *t, struct user_regs_struct *regs)
{
	uintptr_t at = (uintptr_t)regs->PC;
	unsigned long code[2] = { (unsigned long)peek(t, at), (unsigned long)peek(t, at + sizeof(long)) };
	struct copy copy;
	size_t half;

	if (!copy_at(code, regs, &copy) || copy.left < 4)
		return;
	half = copy.left / 4 * 2;
	for (size_t i = 0; i < half; i++)
		poke(t, copy.to + 8 * i, peek(t, copy.from + 8 * i));
	copy_on(code, regs, half);
	halves++;
}

/* To another CPU than the one it is on. */
static void move_away(const struct tracee *t)
{
	cpu_set_t old, set;

	CHECK(!sched_getaffinity(t->pid, sizeof(old), &old));
	CPU_ZERO(&set);
	for (int i = 0; i < cpu_count; i++)
		if (!CPU_ISSET(cpus[i], &old) || CPU_COUNT(&old) > 1)
			CPU_SET(cpus[i], &set);
	if (CPU_COUNT(&set) > 1) /* it had several: one of them now, another at the next time */
		CPU_CLR(cpus[0], &set);
	CHECK(CPU_COUNT(&set) == 0 || !sched_setaffinity(t->pid, sizeof(set), &set));
}

/* It stands at a trap: abort it there. */
static void abort_here(const struct tracee *t, unsigned i, unsigned place, enum mode mode, struct user_regs_struct *regs)
{
	struct sequence *s = &sequences[i];
	struct trap *trap = &traps[i][place];
	bool alone;
	uintptr_t after;
	int stop;

	if (trap->left == 1) { /* it reads the instructions behind */
		put_all_back(t, i);
		copy_half(t, regs);
		set_all_again(t, i);
	}
	put_back(t, i, place);
	set_registers(t, regs);
	/* Not inside of the handler, where it is blocked. */
	if (mode == SIGNAL && handler_at(t) != 0) {
		mode = PREEMPT;
		handled[i] = true;
	}
	alone = mode == SIGNAL && !traps_in_handler;
	if (alone)
		let_handler_run(t);
	if (mode == MIGRATE)
		move_away(t);
	stop = go_on(t, PTRACE_SINGLESTEP, mode == SIGNAL ? SIGUSR1 : 0);
	CHECK_EQ(stop, SIGTRAP);
	after = (uintptr_t)registers(t).PC - t->shift;
	/* In front of the first instruction it may just go on: nothing was read yet that could be stale. */
	if (sequence_at((uintptr_t)regs->PC - t->shift) && after - s->begin < s->post - s->begin && after != s->begin) {
		fprintf(stderr, "not aborted by %s at %s: it went on", mode_name[mode], place_name((uintptr_t)regs->PC - t->shift));
		fprintf(stderr, " to %s\n", place_name(after));
		CHECK(!"the kernel restarts what it stopped");
	}
	aborts[mode]++;
	aborted[mode][i][place] = 1;
	if (--trap->left && !(alone && handled[i]))
		set_trap(t, i, place);
}

/* A round of the workload with a trap in each place that was not aborted in this way yet. false: there is none. */
static bool abort_round(const struct tracee *t, enum mode mode)
{
	bool any = false;

	for (unsigned i = 0; i < sequence_count; i++) {
		for (unsigned place = 0; place < sequences[i].places; place++) {
			traps[i][place].left = aborted[mode][i][place] ? 0 : 2;
			any |= traps[i][place].left != 0;
		}
		set_all_again(t, i);
	}
	while (any) {
		unsigned i, place;
		struct user_regs_struct regs;

		CHECK_EQ(go_on(t, PTRACE_CONT, 0), SIGTRAP);
		regs = trapped(t);
		if (trap_at((uintptr_t)regs.PC - t->shift, &i, &place))
			abort_here(t, i, place, mode, &regs);
		else if (handler_at(t) != 2)
			break; /* the next checkpoint */
		else if (!traps_in_handler)
			handler_has_run(t);
	}
	for (unsigned i = 0; any && i < sequence_count; i++)
		put_all_back(t, i);
	return any;
}

static void abort_all(uint64_t seed, bool by_cpu)
{
	enum { MOST_ROUNDS = 1000 };
	struct tracee t = start(seed, true, by_cpu);
	unsigned long places = 0, run = 0;

	for (enum mode mode = PREEMPT; mode < MODES; mode++) {
		unsigned round = 0;

		if (mode == MIGRATE && cpu_count < 2)
			continue;
		if (mode == MIGRATE && !by_cpu)
			continue; /* the one thread of a process has the same concurrency id everywhere */
		memset(aborted[mode], 0, sizeof(aborted[mode]));
		/* Where one abortion leads another way, a place may not be come by in a round; it will be in another. */
		memset(handled, 0, sizeof(handled));
		for (traps_in_handler = true; round < MOST_ROUNDS && abort_round(&t, mode); traps_in_handler = false)
			round++;
		for (unsigned i = 0; round == MOST_ROUNDS && i < sequence_count; i++)
			for (unsigned place = 0; place < sequences[i].places; place++)
				if (!aborted[mode][i][place])
					fprintf(stderr, "never come by with %s: %s\n", mode_name[mode],
						place_name(sequences[i].place[place]));
		CHECK(round < MOST_ROUNDS);
		printf("%s, %s: %u rounds\n", conf, mode_name[mode], round);
		fflush(stdout);
	}
	for (unsigned i = 0; i < sequence_count; i++)
		places += sequences[i].places, run += sequences[i].places != 0;
	finish(&t);
	printf("%s: %lu sequences, %lu instructions (%s): aborted by preemption %lu, migration %lu, signal %lu times, ", conf, run,
	       places, by_cpu ? "slots by CPU" : "slots as the kernel offers", aborts[PREEMPT], aborts[MIGRATE], aborts[SIGNAL]);
	printf("%lu copies half done\n", halves);
	fflush(stdout);
}

/* Concurrency ids: without them, slots are by CPU in any case. */
static bool has_ids(void)
{
	enum { FEATURE_SIZE = 27 /* of the auxiliary vector */, WITH_ID = 28 /* bytes of struct rseq, Linux 6.3 */ };

	return getauxval(FEATURE_SIZE) >= WITH_ID;
}

static void find_cpus(void)
{
	cpu_set_t allowed;

	CHECK(!sched_getaffinity(0, sizeof(allowed), &allowed));
	for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
		if (CPU_ISSET(cpu, &allowed))
			cpus[cpu_count++] = cpu;
	if (cpu_count == 1)
		printf("one CPU only: nothing can be migrated\n");
}

/* Sequences that were not learnt. */
static unsigned missing(bool tell)
{
	unsigned count = 0;

	for (unsigned i = 0; i < sequence_count; i++) {
		if (learnt[i] || (SANITIZED && strstr(place_name(sequences[i].start), "trim"))) /* malloc is not ours there */
			continue;
		if (tell)
			fprintf(stderr, "not every instruction of the sequence at %s was run\n", place_name(sequences[i].start));
		count++;
	}
	return count;
}

static void abort_in_both(uint64_t seed)
{
	abort_all(seed, true);
	if (has_ids())
		abort_all(seed, false);
}

int main(int argc, char **argv)
{
	static const char *const confs[] = { "check:0", "check:1", "profile:100000", "profile:2000" };
	enum { CONFS = sizeof(confs) / sizeof(confs[0]) };
	const char *only = argc == 3 && !strcmp(argv[1], "--only") ? argv[2] : NULL;
	bool done = false;
	char day[24];
	uint64_t seed;

	find_sequences();
	if (argc == 3 && only == NULL)
		run_workload(strtoull(argv[2], NULL, 10), !strcmp(argv[1], "--by-cpu"));
	if (only != NULL) {
		snprintf(day, sizeof(day), "%lld", (long long)time(NULL) / 86400);
		CHECK(!setenv("DRY_TEST_SEED", day, 0));
	}
	seed = test_seed(only != NULL ? 1 : argc, argv);
	find_cpus();
	CHECK(sequence_count > 0);
	if (!restartable()) {
		printf("no restartable sequences here\n");
		return 77;
	}
	for (size_t i = 0; i < CONFS && !done; i++) {
		bool last = i == CONFS - 1, chosen = only == NULL || !strcmp(only, confs[i]);

		if (!chosen && strcmp(only, confs[CONFS - 1]) != 0)
			continue;
		conf = confs[i];
		if (!last || missing(false) != 0) {
			learn(seed, last);
			if (chosen)
				abort_in_both(seed);
		}
		done = chosen && only != NULL;
	}
	CHECK(only == NULL || done);
	if (only == NULL || !strcmp(only, confs[CONFS - 1]))
		CHECK_EQ(missing(true), 0);
	else
		CHECK(halves != 0);
	return 0;
}
