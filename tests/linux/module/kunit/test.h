/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* As much of the kernel's frame for unit tests as lib/test_list_sort.c needs, over kmem.h: one suite is a module. */
#ifndef DRY_TESTS_LINUX_KUNIT_H
#define DRY_TESTS_LINUX_KUNIT_H

#include <linux/module.h>
#include <linux/slab.h>

#define KUNIT_MOST 1024

struct kunit {
	void *priv;
	void *blocks[KUNIT_MOST];
	unsigned int n;
};
struct kunit_case {
	void (*run)(struct kunit *test);
};
struct kunit_suite {
	const char *name;
	struct kunit_case *test_cases;
};

/* Freed when the case is over. */
static inline void *kunit_kcalloc(struct kunit *test, size_t n, size_t size, gfp_t flags)
{
	return test->blocks[test->n++ % KUNIT_MOST] = kcalloc(n, size, flags);
}

#define kunit_kmalloc(test, size, flags) kunit_kcalloc(test, 1, size, flags)

static inline void kunit_run(struct kunit_suite *suite)
{
	static struct kunit test;

	for (struct kunit_case *one = suite->test_cases; one->run != NULL; one++) {
		one->run(&test);
		while (test.n != 0)
			kfree(test.blocks[--test.n]);
	}
	printf("%s: end\n", suite->name);
}

#define KUNIT_CASE(function) { function }
#define kunit_test_suites(suite)               \
	int module_begin(void)                 \
	{                                      \
		kunit_run(suite);              \
		return 0;                      \
	}                                      \
	void (*const module_end)(void) = NULL;
#define KUNIT_ASSERT_NOT_ERR_OR_NULL(test, at)     module_tell((at) == NULL, #at, __LINE__)
#define KUNIT_EXPECT_LT_MSG(test, a, b, text)      module_tell(!((a) < (b)), text, __LINE__)
#define KUNIT_EXPECT_EQ_MSG(test, a, b, text)      module_tell((a) != (b), text, __LINE__)
#define KUNIT_EXPECT_PTR_EQ_MSG(test, a, b, text)  module_tell((a) != (b), text, __LINE__)
#define KUNIT_ASSERT_PTR_EQ_MSG(test, a, b, text)  module_tell((a) != (b), text, __LINE__)
#define KUNIT_ASSERT_LE_MSG(test, a, b, text)      module_tell(!((a) <= (b)), text, __LINE__)

#endif
