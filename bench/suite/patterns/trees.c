/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Tree builders: each thread builds one deep binary tree that lives to the end, and meanwhile many shallow ones, which
 * are counted and freed. Nodes have 24 to 56 bytes, by their depth. An operation is one node.
 */
#include "patterns.h"

#define DEEP    15
#define SHALLOW 12

struct node {
	struct node *left, *right;
	uint32_t depth;
	uint32_t more[]; /* of 0 to 8 words */
};

static struct node *build(uint32_t depth, size_t *made)
{
	struct node *node = bench_touch(malloc(sizeof(*node) + (depth % 5) * 2 * sizeof(node->more[0])));

	node->depth = depth;
	node->left = depth > 0 ? build(depth - 1, made) : NULL;
	node->right = depth > 0 ? build(depth - 1, made) : NULL;
	++*made;
	return node;
}

/* Frees from the leaves; returns how many nodes there were. */
static size_t fell(struct node *node, uint32_t depth)
{
	size_t count = 1;

	if (node->depth != depth || (node->left == NULL) != (depth == 0))
		suite_damaged(node);
	if (depth > 0)
		count += fell(node->left, depth - 1) + fell(node->right, depth - 1);
	free(node);
	return count;
}

static void trees(struct suite_worker *w)
{
	size_t want = suite_share(w->suite, 1.2e7);
	uint32_t deep = w->suite->scale < 0.01 ? 8 : DEEP;
	struct node *old = build(deep, &w->ops);

	while (w->ops < want) {
		uint32_t depth = bench_range(&w->random, 2, SHALLOW);
		struct node *tree = build(depth, &w->ops);

		w->check += fell(tree, depth);
	}
	w->check += fell(old, deep);
}

void pattern_trees(struct suite *suite)
{
	suite_threads(suite, trees);
}
