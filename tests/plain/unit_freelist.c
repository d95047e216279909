/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* One slab of each type against a model: who is free, how many, what is refused. */
#include "plain.h"

#define MOST 8192

static struct rng rng;

struct model {
	struct dry_cache *cache;
	struct dry_slab *slab;
	bool free[MOST];
	void *out[MOST];
	unsigned count; /* of out */
};

static void check_model(const struct model *model)
{
	const struct dry_cache *cache = model->cache;

	CHECK(dry_slab_check(cache, model->slab) == NULL);
	CHECK_EQ(model->slab->active, model->count);
	CHECK_EQ(dry_slab_count_free(cache, model->slab), cache->num - model->count);
	for (uint32_t i = 0; i < cache->num && model->count != 0; i += 1 + cache->num / 61)
		CHECK_EQ(dry_slab_is_free(cache, model->slab, i), model->free[i]);
}

static void take(struct model *model, unsigned max, unsigned more)
{
	unsigned left = model->cache->num - model->count, most = left < max ? left : max, got;
	void *objects[MOST];

	got = dry_slab_take(model->cache, model->slab, objects, max, more);
	CHECK(got <= most && (more == 0 ? got == most : got != 0 || most == 0));
	for (unsigned i = 0; i < got; i++) {
		uint32_t index = dry_slab_index(model->cache, model->slab, objects[i]);
		CHECK(index < model->cache->num && model->free[index]);
		model->free[index] = false;
		model->out[model->count++] = objects[i];
		pattern_fill(objects[i], model->cache->object_size);
	}
}

/* Taken in pieces, which are pushed on a stack, objects come off it in the order of their addresses. */
static void test_pieces(struct dry_cache *cache, struct dry_slab *slab)
{
	static void *stack[MOST];
	unsigned count = 0, got;

	for (unsigned left = cache->num; left != 0; left -= got, count += got) {
		unsigned want = left < 64 ? left : 64;
		got = dry_slab_take(cache, slab, stack + count, want, left - want);
		CHECK(got != 0 && got <= want);
	}
	for (unsigned i = 0; i < count && cache->mgmt == DRY_MGMT_BITMAP; i++)
		CHECK_EQ(dry_slab_index(cache, slab, stack[count - 1 - i]), i);
	for (unsigned done = 0; done < count;)
		done += dry_slab_put(cache, slab, stack + done, count - done);
	CHECK_EQ(slab->active, 0);
}

static void put(struct model *model, unsigned count)
{
	rng_shuffle(&rng, model->out, model->count);
	model->count -= count;
	for (unsigned i = model->count; i < model->count + count; i++) {
		CHECK(pattern_holds(model->out[i], model->cache->object_size));
		model->free[dry_slab_index(model->cache, model->slab, model->out[i])] = true;
	}
	if (count != 0)
		CHECK_EQ(dry_slab_put(model->cache, model->slab, model->out + model->count, count), count);
}

/* The wrong ones among those put are reported and dropped, the right ones go in. */
static void test_refused(struct model *model)
{
	void *right = model->out[--model->count], *objects[3] = { (char *)right + 1, right, right };

	model->free[dry_slab_index(model->cache, model->slab, right)] = true;
	plain_expect();
	CHECK_EQ(dry_slab_put(model->cache, model->slab, objects + 1, 1), 1);
	CHECK_EQ(plain.reports, 0);
	CHECK_EQ(dry_slab_put(model->cache, model->slab, objects + 2, 1), 1);
	plain_expected(DRY_FATAL_DOUBLE_FREE, right);
	plain_expect();
	CHECK_EQ(dry_slab_put(model->cache, model->slab, objects, 1), 1);
	plain_expected(DRY_FATAL_INTERIOR, objects[0]);
	check_model(model);
}

static void test_type(struct dry_caches *caches, unsigned type, size_t size, unsigned width)
{
	static struct model model;
	struct dry_cache *cache = plain_cache(caches, "type", size, type | DRY_CACHE_NO_ARRAYS);
	void *first[4];

	model = (struct model){ .cache = cache, .slab = dry_slab_new(cache, 0, DRY_GFP_DEFAULT, 1) };
	CHECK(cache->num <= MOST && model.slab != NULL);
	CHECK(width == 0 || cache->index_width == width);
	for (uint32_t i = 0; i < cache->num; i++)
		model.free[i] = true;
	check_model(&model);
	/* A fresh slab from its lowest address up, the last of a batch the lowest. */
	unsigned want = cache->num < 4 ? cache->num : 4;
	CHECK_EQ(dry_slab_take(cache, model.slab, first, want, 0), want);
	for (unsigned i = 0; i < want; i++)
		CHECK_EQ(dry_slab_index(cache, model.slab, first[i]), want - 1 - i);
	CHECK_EQ(dry_slab_put(cache, model.slab, first, want), want);
	CHECK_EQ(model.slab->active, 0);
	test_pieces(cache, model.slab);
	for (unsigned step = 0; step < 300; step++) {
		if (rng_below(&rng, 2) == 0)
			take(&model, 1 + (unsigned)rng_below(&rng, rng_below(&rng, 8) ? 16 : cache->num),
			     (unsigned)rng_below(&rng, 100));
		else if (model.count != 0)
			put(&model, 1 + (unsigned)rng_below(&rng, model.count < 16 ? model.count : 16));
		check_model(&model);
	}
	take(&model, cache->num, 0);
	check_model(&model);
	test_refused(&model);
	put(&model, model.count);
	check_model(&model);
	dry_slab_free(cache, model.slab);
	CHECK_EQ(dry_cache_unmake(cache), 0);
}

/* Objects from index `from` on, `step` apart; those behind the slab's last are no objects of it. */
static void line_up(const struct dry_cache *cache, const struct dry_slab *slab, void **objects, unsigned from, int step,
		    unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		objects[i] = dry_slab_object(cache, slab, from + (unsigned)((int)i * step));
}

/* Bits of a batch at once: neighbours upwards and downwards, over words, and others; up to one that is wrong. */
static void test_bits(struct dry_caches *caches, size_t size)
{
	struct dry_cache *cache = plain_cache(caches, "bits", size, DRY_CACHE_BITMAP | DRY_CACHE_NO_ARRAYS);
	struct dry_slab *slab = dry_slab_new(cache, 0, DRY_GFP_DEFAULT, 0);
	static const int steps[] = { 1, -1, 2, -3 };
	void *objects[300], *all[300];
	unsigned num = cache->num;

	CHECK_EQ(dry_slab_take(cache, slab, all, num, 0), num);
	for (unsigned round = 0; round < 2000; round++) {
		int step = steps[round % 4];
		unsigned away = step < 0 ? (unsigned)-step : (unsigned)step, from = (unsigned)rng_below(&rng, num);
		unsigned most = (step > 0 ? num - 1 - from : from) / away + 1, count = 1 + (unsigned)rng_below(&rng, most);
		line_up(cache, slab, objects, from, step, count);
		unsigned done = dry_slab_put_bits(cache, slab, objects, count);
		CHECK_EQ(done, count);
		CHECK_EQ(slab->active, num - count);
		for (unsigned i = 0; i < num; i++) {
			int distance = ((int)i - (int)from) * (step > 0 ? 1 : -1);
			CHECK_EQ(dry_slab_is_free(cache, slab, i),
				 distance >= 0 && distance % (int)away == 0 && (unsigned)distance / away < count);
		}
		if (round % 3 == 0) { /* one is free already: those before it go in, of neighbours none */
			unsigned good = (unsigned)rng_below(&rng, count), one = from + (unsigned)((int)good * step);
			CHECK_EQ(dry_slab_take(cache, slab, objects, num, 0), count);
			CHECK_EQ(dry_slab_put_bits(cache, slab, (void *[]){ dry_slab_object(cache, slab, one) }, 1), 1);
			line_up(cache, slab, objects, from, step, count);
			good = away == 1 ? 0 : good;
			CHECK_EQ(dry_slab_put_bits(cache, slab, objects, count), good);
			CHECK_EQ(slab->active, num - 1 - good);
		} else if (round % 3 == 1) { /* one is twice there */
			CHECK_EQ(dry_slab_take(cache, slab, objects, num, 0), count);
			line_up(cache, slab, objects, from, step, count);
			objects[count] = objects[rng_below(&rng, count)];
			CHECK_EQ(dry_slab_put_bits(cache, slab, objects, count + 1), count);
			CHECK_EQ(slab->active, num - count);
			CHECK_EQ(dry_slab_put_bits(cache, slab, objects + count, 1), 0);
		}
		unsigned free = num - slab->active;
		CHECK_EQ(dry_slab_take(cache, slab, objects, num, 0), free);
	}
	/* A run that goes on behind the last object. */
	line_up(cache, slab, objects, num - 3, 1, 6);
	CHECK_EQ(dry_slab_put_bits(cache, slab, objects, 6), 3);
	CHECK_EQ(slab->active, num - 3);
	CHECK_EQ(dry_slab_put_bits(cache, slab, objects + 3, 3), 0);
	line_up(cache, slab, objects, 2, -1, 3);
	objects[3] = (char *)objects[2] - size;
	CHECK_EQ(dry_slab_put_bits(cache, slab, objects, 4), 3);
	CHECK(dry_slab_check(cache, slab) == NULL);
	dry_slab_free(cache, slab);
	CHECK_EQ(dry_cache_unmake(cache), 0);
}

/* More bits than a descriptor has, in pages of 16 and 64 KiB. */
static void test_beside(void)
{
	for (unsigned shift = 14; shift <= 16; shift += 2) {
		struct dry_caches *caches = plain_open(&(struct plain_attr){ .page_shift = shift, .pages = 512, .max_order = 6 });

		for (size_t size = 1; (size + 9) * DRY_BITMAP_OBJECTS < (size_t)1 << shift; size += 1 + size / 3)
			test_type(caches, DRY_CACHE_SECURE, size, 0);
		struct dry_cache *cache = plain_cache(caches, "width", 8, DRY_CACHE_SECURE);
		CHECK(cache->mgmt == DRY_MGMT_OFF_SLAB && cache->index_width == 0);
		CHECK_EQ(dry_cache_unmake(cache), 0);
		plain_close(caches);
	}
}

/* Of another cache, or of a slab that is gone. */
static void test_accepts(struct dry_caches *caches)
{
	struct dry_cache *one = plain_cache(caches, "one", 64, DRY_CACHE_NO_MERGE), *two = plain_cache(caches, "two", 64,
												     DRY_CACHE_NO_MERGE);
	struct dry_slab *slab = dry_slab_new(one, 0, DRY_GFP_DEFAULT, 0);
	void *object;

	CHECK_EQ(dry_slab_take(one, slab, &object, 1, 0), 1);
	plain_expect();
	CHECK_EQ(dry_slab_put(two, slab, &object, 1), 1);
	plain_expected(DRY_FATAL_WRONG_CACHE, object);
	CHECK_EQ(slab->active, 1);
	dry_slab_free(one, slab);
	plain_expect();
	CHECK_EQ(dry_slab_put(one, slab, &object, 1), 1);
	plain_expected(DRY_FATAL_DOUBLE_FREE, object);
	CHECK_EQ(dry_cache_unmake(one) | dry_cache_unmake(two), 0);
}

/* A program writes into a free object whose first bytes are a link: the next take says so, and cannot go on. */
static void test_chain_damage(uint64_t damage, bool notices_put)
{
	struct dry_caches *caches = plain_open(&(struct plain_attr){ 0 });
	struct dry_cache *cache = plain_cache(caches, "chain", 64, DRY_CACHE_CHAIN | DRY_CACHE_NO_ARRAYS);
	struct dry_slab *slab = dry_slab_new(cache, 0, DRY_GFP_DEFAULT, 0);
	void *objects[3];
	jmp_buf end;

	CHECK_EQ(dry_slab_take(cache, slab, objects, 3, 0), 3);
	CHECK_EQ(dry_slab_put(cache, slab, objects, 3), 3);
	dry_store64(objects[2], dry_load64(objects[2]) ^ damage);
	/* A second free of it is noticed by its mark, or (mark gone) goes in twice and shows in the count. */
	plain_expect();
	if (notices_put)
		CHECK_EQ(dry_slab_put(cache, slab, objects + 2, 1), 1);
	CHECK_EQ(dry_slab_check(cache, slab) != NULL, notices_put); /* the count follows the links, and trusts marks */
	plain_expect();
	plain.end = &end;
	if (setjmp(end) == 0) {
		dry_slab_take(cache, slab, objects, 3, 0);
		plain_wrong("a damaged link went unnoticed");
	}
	CHECK_EQ(plain.reports, 2);
	CHECK(plain.address == objects[2] && plain.code == DRY_FATAL_INTERNAL);
	dry_backing_free(&caches->backing, slab);
	plain_abandon(caches);
}

int main(int argc, char **argv)
{
	static const size_t sizes[] = { 8, 16, 24, 64, 104, 200, 1000, 3000, 20000 };
	static const unsigned types[] = { DRY_CACHE_NORMAL, DRY_CACHE_OFF_SLAB, DRY_CACHE_BITMAP, DRY_CACHE_CHAIN,
					  DRY_CACHE_PUBLISHED, 0 };
	struct dry_caches *caches = plain_open(&(struct plain_attr){ 0 });

	rng.state = test_seed(argc, argv);
	for (size_t t = 0; t < sizeof(types) / sizeof(types[0]); t++)
		for (size_t s = 0; s < sizeof(sizes) / sizeof(sizes[0]); s++)
			if (types[t] != DRY_CACHE_BITMAP || sizes[s] >= 16)
				test_type(caches, types[t], sizes[s], 0);
	for (size_t size = 64; size <= 4096; size *= 4)
		test_type(caches, DRY_CACHE_OBJFREELIST, size, 1);
	test_type(caches, DRY_CACHE_NORMAL, 8, 2);
	test_type(caches, DRY_CACHE_OFF_SLAB, 8, 2);
	for (size_t size = 16; size <= 1000; size += size / 2 / 8 * 8)
		test_bits(caches, size);
	test_accepts(caches);
	plain_close(caches);
	test_beside();
	test_chain_damage(UINT64_C(1) << 40, false);
	test_chain_damage(0x1fff, true);
	return 0;
}
