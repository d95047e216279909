/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * From a seed that fails to a trace that can be read: the run is written down as a list of operations
 * and a list of events; then parts of both are left out, big ones first, as long as the same
 * failure comes (delta debugging: Zeller, Hildebrandt, Simplifying and Isolating Failure-Inducing
 * Input, 2002). Each attempt is a process of its own.
 */
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "world.h"

#define EVENTS  (1u << 20)
#define TEXT    512
#define FULL    250 /* lines that are printed whole */
#define TAIL    60  /* else all of the last ones, and the main ones before */
#define LONGEST 20  /* seconds of an attempt */

/* Columns of a line of the timeline: CPU and task from WHEN on, WHO of them; the rest from WHAT on. */
enum { WHEN = 9, WHO = 8, WHAT = 30 };

/* An operation or an event; gone: left out. */
struct unit {
	bool gone;
};

static struct shrink {
	struct episode *episode;          /* shared with the attempts */
	struct dry_sim_event *all, *kept; /* events: as written down; of the candidate */
	size_t event_count;
	char *text; /* shared: of the last attempt */
	char wanted[TEXT];
	struct unit *ops, *events;
	uint32_t (*op)[2]; /* task, number */
	size_t op_count;
	unsigned attempts;
	time_t until;
} shrink;

static void *shared(size_t size)
{
	void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (memory == MAP_FAILED) {
		perror("simulation: memory to shrink in");
		exit(2);
	}
	return memory;
}

/* ---- attempts ----------------------------------------------------------------------------- */

static void failed(const char *text)
{
	snprintf(shrink.text, TEXT, "%s", text);
	fflush(stdout);
	_exit(1);
}

/* What kind of failure it is: the text without its numbers. */
static void kind_of(const char *text, char *kind)
{
	for (; *text != '\0'; text++) {
		if (text[0] == '0' && text[1] == 'x') {
			text += 1 + strspn(text + 2, "0123456789abcdef");
			continue;
		}
		if (*text < '0' || *text > '9')
			*kind++ = *text;
	}
	*kind = '\0';
}

/* Runs the episode as it stands; true: it fails. */
static bool attempt(void)
{
	int status = 0;
	pid_t child;

	shrink.text[0] = '\0';
	fflush(stdout);
	child = fork();
	if (child == 0) {
		alarm(LONGEST);
		shrink.episode->failed = failed;
		episode_run(shrink.episode);
		fflush(stdout);
		_exit(0);
	}
	if (child < 0 || waitpid(child, &status, 0) != child)
		exit(2);
	if (status != 0 && shrink.text[0] == '\0')
		snprintf(shrink.text, TEXT, "signal %d", WIFSIGNALED(status) ? WTERMSIG(status) : 0);
	return status != 0;
}

static bool fails_alike(void)
{
	char kind[TEXT];
	size_t n = 0;

	for (size_t i = 0; i < shrink.op_count; i++)
		shrink.episode->skip[shrink.op[i][0]][shrink.op[i][1]] = shrink.ops[i].gone;
	for (size_t i = 0; i < shrink.event_count; i++)
		if (!shrink.events[i].gone)
			shrink.kept[n++] = shrink.all[i];
	shrink.episode->events = shrink.kept;
	shrink.episode->event_count = n;
	shrink.attempts++;
	if (!attempt())
		return false;
	kind_of(shrink.text, kind);
	return strcmp(kind, shrink.wanted) == 0;
}

/* ---- leaving out ---------------------------------------------------------------------------- */

static size_t left(const struct unit *units, size_t count)
{
	size_t n = 0;

	for (size_t i = 0; i < count; i++)
		n += !units[i].gone;
	return n;
}

/* Leave out the next `size` units that are still there, from *at on; false: there were none. */
static bool leave_out(struct unit *units, size_t count, size_t *at, size_t size, size_t *taken, size_t *n)
{
	for (*n = 0; *at < count && *n < size; ++*at)
		if (!units[*at].gone) {
			units[*at].gone = true;
			taken[(*n)++] = *at;
		}
	return *n != 0;
}

static void reduce(struct unit *units, size_t count)
{
	size_t *taken = malloc((count + 1) * sizeof(*taken)), n;

	if (taken == NULL)
		exit(2);
	for (size_t size = left(units, count); size > 0; size /= 2) {
		size_t at = 0;

		while (time(NULL) < shrink.until && leave_out(units, count, &at, size, taken, &n)) {
			if (fails_alike())
				continue;
			for (size_t i = 0; i < n; i++)
				units[taken[i]].gone = false;
		}
	}
	free(taken);
}

static void reduce_all(void)
{
	size_t before, after = left(shrink.ops, shrink.op_count) + left(shrink.events, shrink.event_count);

	do {
		before = after;
		reduce(shrink.ops, shrink.op_count);
		reduce(shrink.events, shrink.event_count);
		after = left(shrink.ops, shrink.op_count) + left(shrink.events, shrink.event_count);
	} while (after < before && time(NULL) < shrink.until);
}

/* ---- writing down ----------------------------------------------------------------------------- */

static void list_operations(void)
{
	const struct episode *episode = shrink.episode;

	shrink.op = calloc((size_t)DRY_SIM_TASKS * EPISODE_OPS, sizeof(*shrink.op));
	for (uint32_t task = 0; shrink.op != NULL && task < DRY_SIM_TASKS; task++) {
		uint32_t end = 0;

		for (unsigned phase = 0; phase < WORLD_PHASES; phase++)
			if (episode->end[task][phase] > end)
				end = episode->end[task][phase];
		for (uint32_t op = 0; op < end; op++) {
			shrink.op[shrink.op_count][0] = task;
			shrink.op[shrink.op_count++][1] = op;
		}
	}
	shrink.ops = calloc(shrink.op_count + 1, sizeof(*shrink.ops));
	shrink.events = calloc(shrink.event_count + 1, sizeof(*shrink.events));
	if (shrink.op == NULL || shrink.ops == NULL || shrink.events == NULL)
		exit(2);
}

/* Once more from the seed, with all that happens written down. false: it does not fail this time. */
static bool write_down(uint64_t seed, const struct world_wish *wish)
{
	shrink.episode = shared(sizeof(*shrink.episode));
	shrink.all = shared(EVENTS * sizeof(*shrink.all));
	shrink.kept = shared(EVENTS * sizeof(*shrink.kept));
	shrink.text = shared(TEXT);
	*shrink.episode = (struct episode){ .seed = seed, .wish = *wish };
	shrink.episode->events = shrink.all;
	shrink.episode->event_room = EVENTS;
	if (!attempt())
		return false;
	kind_of(shrink.text, shrink.wanted);
	while (shrink.event_count < EVENTS && shrink.all[shrink.event_count].kind != 0)
		shrink.event_count++;
	episode_sort(shrink.all, shrink.event_count);
	list_operations();
	shrink.episode->replay = true;
	return true;
}

/* ---- the timeline ------------------------------------------------------------------------------- */

static bool is_main(const char *line)
{
	return strstr(line, " == ") != NULL || strstr(line, " ---- ") != NULL || strstr(line, " lock ") != NULL ||
	       strstr(line, "says") != NULL || strstr(line, "FAILED") != NULL;
}

/* The same task does the same as in the line before, which then counts how often. */
static bool repeats(const char *line, const char *last)
{
	return strncmp(line + WHEN, last + WHEN, WHO) == 0 && strlen(line) > WHAT && strlen(last) > WHAT &&
	       strcmp(line + WHAT, last + WHAT) == 0;
}

static void print_line(char *line, unsigned times)
{
	line[strcspn(line, "\n")] = '\0';
	if (times > 1)
		printf("%s (%u times)\n", line, times);
	else if (times == 1)
		puts(line);
}

static void print_lines(FILE *file)
{
	char line[1024], last[1024] = "";
	size_t lines = 0, at = 0;
	unsigned times = 0;

	rewind(file);
	while (fgets(line, sizeof(line), file) != NULL)
		lines++;
	rewind(file);
	puts("    step CPU task    op:step what");
	while (fgets(line, sizeof(line), file) != NULL) {
		at++;
		if (lines > FULL && at + TAIL <= lines && !is_main(line))
			continue;
		if (times != 0 && repeats(line, last)) {
			times++;
			continue;
		}
		print_line(last, times);
		memcpy(last, line, sizeof(last));
		times = 1;
	}
	print_line(last, times);
}

static void print_timeline(void)
{
	FILE *file = tmpfile();
	int terminal = dup(1);

	if (file == NULL || terminal < 0)
		return;
	fflush(stdout);
	dup2(fileno(file), 1);
	shrink.episode->trace = true;
	fails_alike();
	fflush(stdout);
	dup2(terminal, 1);
	close(terminal);
	print_lines(file);
	fclose(file);
}

void shrink_and_print(uint64_t seed, const struct world_wish *wish, unsigned seconds)
{
	size_t ops, events;

	if (!write_down(seed, wish)) {
		puts("simulation: it does not fail when it is run again");
		return;
	}
	shrink.until = time(NULL) + (time_t)seconds;
	ops = shrink.op_count;
	events = shrink.event_count;
	if (!fails_alike()) {
		printf("simulation: the list of its %zu events does not fail like it: %s\n", events,
		       shrink.text[0] != '\0' ? shrink.text : "not at all");
		return;
	}
	reduce_all();
	printf("simulation: %zu operations, %zu events; of these, %zu operations and %zu events are enough (%u "
	       "attempts)\n",
	       ops, events, left(shrink.ops, shrink.op_count), left(shrink.events, shrink.event_count),
	       shrink.attempts);
	print_timeline();
}
