// SPDX-License-Identifier: MIT OR GPL-2.0-only
// drystone.hpp: heaps with limits, caches, owners, containers, a class with a cache of its own.
#include <drystone/drystone.hpp>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <list>
#include <map>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#define CHECK(condition)                                                          \
	do {                                                                      \
		if (!(condition)) {                                               \
			std::fprintf(stderr, "line %d: %s\n", __LINE__, #condition); \
			std::exit(1);                                             \
		}                                                                 \
	} while (0)

namespace {

struct counted {
	static inline int alive = 0;
	long value;
	std::string text = "a text that is longer than what a string holds inside";

	explicit counted(long v) : value(v)
	{
		if (v < 0)
			throw std::invalid_argument("negative");
		alive++;
	}
	counted(const counted &) = delete;
	counted &operator=(const counted &) = delete;
	~counted() { alive--; }
};

struct alignas(128) wide {
	char bytes[256];
};

struct tree { // owns others of its kind
	dry::cache<tree>::unique_ptr left, right;
};

struct session {
	DRY_CACHED(session);
	virtual ~session() = default;
	long values[4] = { 1, 2, 3, 4 };
};

struct big_session : session {
	long more[20] = {};
};

struct aligned_item {
	DRY_CACHED(aligned_item);
	alignas(64) char bytes[64];
};

struct throwing_session : session {
	long more[20] = {};
	throwing_session() { throw std::invalid_argument("always"); }
};

struct alignas(64) wide_session : session {
	long more[24] = {};
};

struct line_item {
	DRY_CACHED(line_item);
	char bytes[64];
};

struct alignas(64) aligned_line : line_item {
	static inline bool refuse = false;
	aligned_line()
	{
		if (refuse)
			throw std::invalid_argument("refused");
	}
};

struct throwing_item {
	DRY_CACHED(throwing_item);
	char bytes[40];
	throwing_item() { throw std::invalid_argument("always"); }
};

struct enormous {
	DRY_CACHED(enormous);
	char bytes[5 << 20];
};

template <class T> bool is_aligned(const T *object, std::size_t to = alignof(T))
{
	return reinterpret_cast<std::uintptr_t>(object) % to == 0;
}

void test_cache()
{
	dry::cache<const std::string> unchanged("unchanged"); // of const objects
	CHECK(*unchanged.make_unique("stone") == "stone");
	unchanged.unmake(unchanged.make("stone"));
	dry::cache<counted> cache("counted", nullptr, DRY_CACHE_NO_MERGE);
	{
		auto one = cache.make_unique(1);
		auto other = cache.make_unique(2);
		static_assert(sizeof(one) == 2 * sizeof(void *), "an owner knows its cache");

		CHECK(one->value == 1 && other->value == 2 && counted::alive == 2);
		other = std::move(one);
		CHECK(other->value == 1 && counted::alive == 1 && cache.stats().active_objects == 1);
		dry::cache<counted> moved = std::move(cache); // its objects stay where they are
		cache = std::move(moved);
	}
	CHECK(counted::alive == 0 && cache.stats().active_objects == 0);
	bool thrown = false;
	try {
		cache.unmake(cache.make(-1));
	} catch (const std::invalid_argument &) {
		thrown = true;
	}
	CHECK(thrown && cache.stats().active_objects == 0);
	cache.unmake(nullptr);

	std::vector<std::thread> threads;
	dry::cache<wide> wides("wide");
	for (int t = 0; t < 3; t++)
		threads.emplace_back([&wides] {
			std::vector<dry::cache<wide>::unique_ptr> owned;
			for (int i = 0; i < 500; i++) {
				owned.push_back(wides.make_unique());
				CHECK(is_aligned(owned.back().get()));
			}
		});
	for (auto &thread : threads)
		thread.join();
	CHECK(wides.stats().active_objects == 0);
	wides.prefill(100);

	dry::cache<tree> trees("tree", nullptr, DRY_CACHE_NO_MERGE);
	auto root = trees.make_unique();
	root->left = trees.make_unique();
	root->left->right = trees.make_unique();
	CHECK(trees.stats().active_objects == 3);
	root.reset();
	CHECK(trees.stats().active_objects == 0);
}

void test_heap()
{
	dry::heap small("small", 1 << 20);
	int got = 0;
	bool full = false;

	try {
		for (; got < 10000; got++)
			(void)small.allocate(4096);
	} catch (const std::bad_alloc &) {
		full = true;
	}
	CHECK(full && got > 100 && got <= 256 && small.stats().in_use <= 1 << 20);
	std::size_t const odd[] = { 0, 3, 5, 7, 12, 24, 48, ~std::size_t(0) };
	for (std::size_t align : odd) {
		int error = 0;
		try {
			(void)dry::heap().allocate(100, align);
		} catch (const std::system_error &e) {
			error = e.code().value();
		}
		CHECK(error == EINVAL);
	}
	dry::heap moved = std::move(small);
	CHECK(small.get() == nullptr && moved.stats().in_use > 100 * 4096u);
	{
		dry::heap room("room");
		dry::cache<counted> inside("inside", room);
		CHECK(inside.make_unique(3)->value == 3 && room.stats().in_use > 0);
	}

	bool refused = false;
	try {
		dry::cache<counted> nameless(nullptr);
	} catch (const std::system_error &error) {
		refused = error.code().value() == EINVAL;
	}
	CHECK(refused);
	void *block = moved.get() ? dry_alloc(nullptr, 10) : nullptr; // and C's functions take a heap as it is
	dry_free(nullptr, block);
	CHECK(dry_heap_check(moved) == 0);
}

void test_containers()
{
	dry::heap heap("containers");
	{
		std::map<int, std::string, std::less<int>, dry::allocator<std::pair<const int, std::string>>> map{ heap };
		std::vector<wide, dry::allocator<wide>> wides{ heap };
		std::list<long, dry::allocator<long>> list{ heap }, other;
		for (int i = 0; i < 1000; i++) {
			map[i] = std::to_string(i);
			list.push_back(i);
		}
		wides.resize(10);
		CHECK(is_aligned(&wides[3]) && map.at(999) == "999" && list.size() == 1000);
		CHECK(list.get_allocator() == dry::allocator<int>(heap) && list.get_allocator() != other.get_allocator());
		other = std::move(list);
		CHECK(other.get_allocator() == dry::allocator<int>(heap) && other.back() == 999);

		dry::resource resource(heap), same(heap), default_one;
		std::pmr::memory_resource *as_base = &resource;
		CHECK(*as_base == same && !(*as_base == default_one));
		dry::resource named(dry_heap_default());
		CHECK(named == default_one && default_one == named && !(named == resource));
		CHECK(dry::allocator<int>() == dry::allocator<long>(dry_heap_default()) && dry::allocator<int>() != dry::allocator<int>(heap));
		std::pmr::vector<std::pmr::string> strings(&resource);
		for (int i = 0; i < 500; i++)
			strings.emplace_back("a string that is longer than what a string holds inside");
		CHECK(strings[499].get_allocator().resource() == &resource);
		for (std::size_t size : { 1u, 8u, 9u, 100u, 5000u })
			for (std::size_t align : { 1u, 8u, 16u, 64u, 4096u }) {
				void *block = resource.allocate(size, align);
				CHECK(is_aligned(static_cast<char *>(block), align));
				resource.deallocate(block, size, align);
			}
		CHECK(heap.stats().in_use > 0 && dry_heap_check(heap) == 0);
	}
}

std::size_t in_class_cache(dry_cache *cache)
{
	struct dry_cache_stats stats;

	CHECK(::dry_cache_stats(cache, &stats) == 0);
	return stats.active_objects;
}

void test_class()
{
	session *one = new session, *big = new big_session, *maybe = new (std::nothrow) session;

	CHECK(in_class_cache(session::dry_class_cache()) == 2 && one->values[3] == 4 && maybe != nullptr);
	delete big;
	CHECK(in_class_cache(session::dry_class_cache()) == 2);
	delete one;
	delete maybe;
	CHECK(in_class_cache(session::dry_class_cache()) == 0);
	alignas(session) char place[sizeof(session)];
	(new (place) session)->~session();
	delete[] new session[3];
	auto owned = std::make_unique<aligned_item>();
	CHECK(is_aligned(owned.get()) && in_class_cache(aligned_item::dry_class_cache()) == 1);
}

template <class T> bool throws()
{
	try {
		delete new (std::nothrow) T;
	} catch (const std::invalid_argument &) {
		return true;
	}
	return false;
}

/* What a constructor throws in a new without exceptions of its own, and alignments there. */
void test_nothrow()
{
	std::size_t before = in_class_cache(session::dry_class_cache());

	for (int i = 0; i < 100; i++) {
		CHECK(throws<throwing_session>() && throws<throwing_item>());
		auto *wide_one = new (std::nothrow) wide_session;
		auto *line = new (std::nothrow) aligned_line;
		auto *other = new aligned_line;
		session *as_base = new (std::nothrow) big_session;

		CHECK(is_aligned(wide_one, 64) && is_aligned(line, 64) && is_aligned(other, 64) && as_base != nullptr);
		delete line;
		delete other;
		aligned_line::refuse = true;
		CHECK(throws<aligned_line>());
		aligned_line::refuse = false;
		delete wide_one;
		delete as_base;
	}
	CHECK(in_class_cache(session::dry_class_cache()) == before);
	CHECK(in_class_cache(throwing_item::dry_class_cache()) == 0);
}

/* A class whose cache cannot be made, for it is bigger than caches may be. */
void test_no_cache()
{
	bool refused = false;

	CHECK(new (std::nothrow) enormous == nullptr);
	try {
		delete new enormous;
	} catch (const std::system_error &error) {
		refused = error.code().value() == EINVAL;
	}
	CHECK(refused);
}

} // namespace

int main()
{
	test_cache();
	test_heap();
	test_containers();
	test_class();
	test_nothrow();
	test_no_cache();
	std::puts("ok");
}
