/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * drystone.hpp - drystone.h for C++17: nothing to link but the library.
 *
 *   dry::heap            owns a heap, with a limit, over memory that is handed in; what is left in it goes with it
 *   dry::cache<T>        a cache for T: make() and unmake() run constructor and destructor, make_unique() owns
 *   DRY_CACHED(T)        one line in a class: its new and delete use a cache of their own
 *   dry::allocator<T>    for the standard containers
 *   dry::resource        std::pmr::memory_resource, where the C++ library has it
 *
 * Where a heap is asked for, nullptr is the default one, and a dry::heap may be given as it is. Failure to get memory
 * throws std::bad_alloc, a bad attribute std::system_error; built without exceptions, both end the process. Thread safety and
 * all else are drystone.h's.
 */
#ifndef DRYSTONE_DRYSTONE_HPP
#define DRYSTONE_DRYSTONE_HPP

#include <drystone/drystone.h>

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <memory>
#include <new>
#include <system_error>
#include <type_traits>
#include <utility>
#if __has_include(<memory_resource>)
#include <memory_resource>
#endif

namespace dry {

namespace detail {

[[noreturn]] inline void fail(int error)
{
#if defined(__cpp_exceptions)
	if (error != ENOMEM)
		throw std::system_error(error, std::generic_category(), "drystone");
	throw std::bad_alloc();
#else
	(void)error;
	std::abort();
#endif
}

/* nullptr and errno. dry_alloc() aligns to two pointers, below 16 bytes to 8; the other one refuses what is no power of two. */
inline void *try_take(dry_heap *from, std::size_t size, std::size_t align) noexcept
{
	bool good = align != 0 && (align & (align - 1)) == 0;

	return good && (align <= 8 || (align <= 2 * sizeof(void *) && size >= 16)) ? dry_alloc(from, size)
										   : dry_alloc_aligned(from, align, size);
}

inline void *take(dry_heap *from, std::size_t size, std::size_t align)
{
	void *block = try_take(from, size, align);

	if (block == nullptr)
		fail(errno);
	return block;
}

/* nullptr and errno. */
inline dry_cache *try_cache(dry_heap *from, const char *name, std::size_t size, std::size_t align, unsigned flags) noexcept
{
	dry_cache_attr attr{};

	attr.name = name;
	attr.size = size;
	attr.align = align;
	attr.flags = flags;
	return dry_cache_create(from, &attr);
}

inline dry_cache *create_cache(dry_heap *from, const char *name, std::size_t size, std::size_t align, unsigned flags)
{
	dry_cache *made = try_cache(from, name, size, align, flags);

	if (made == nullptr)
		fail(errno);
	return made;
}

inline void *take(dry_cache *from)
{
	void *object = dry_cache_alloc(from);

	if (object == nullptr)
		fail(ENOMEM);
	return object;
}

/* nullptr and the default heap are one. */
inline bool is_same_heap(dry_heap *a, dry_heap *b) noexcept
{
	return a == b || (a == nullptr && b == dry_heap_default()) || (b == nullptr && a == dry_heap_default());
}

/* ---- for DRY_CACHED ---------------------------------------------------------------------------- */

constexpr std::size_t usual_align = __STDCPP_DEFAULT_NEW_ALIGNMENT__;

/*
 * The cache of a class and those derived from it that are of its size: aligned as any new of that size. nullptr and errno, and
 * the next call tries again. Of two threads that make it at once one takes its own back.
 */
inline dry_cache *class_cache(std::atomic<dry_cache *> &made, const char *name, std::size_t size, std::size_t align) noexcept
{
	dry_cache *cache = made.load(std::memory_order_acquire), *first = nullptr; /* pairs with the release below */

	if (cache != nullptr)
		return cache;
	cache = try_cache(nullptr, name, size, align < usual_align && size % usual_align == 0 ? usual_align : align, 0);
	if (cache == nullptr || made.compare_exchange_strong(first, cache, std::memory_order_acq_rel, std::memory_order_acquire))
		return cache;
	dry_cache_destroy(cache);
	return first;
}

/* An object of a class with a cache, or of one derived from it. nullptr and errno. */
inline void *try_class(dry_cache *(*cache)() noexcept, bool fits, std::size_t size, std::size_t align) noexcept
{
	dry_cache *from = fits ? cache() : nullptr;

	if (!fits)
		return try_take(nullptr, size, align);
	return from != nullptr ? dry_cache_alloc(from) : nullptr;
}

inline void *take_class(dry_cache *(*cache)() noexcept, bool fits, std::size_t size, std::size_t align)
{
	void *object = try_class(cache, fits, size, align);

	if (object == nullptr)
		fail(errno);
	return object;
}

inline void free_class(dry_cache *(*cache)() noexcept, bool fits, void *object) noexcept
{
	if (fits)
		dry_cache_free(cache(), object);
	else
		dry_free(nullptr, object);
}

} // namespace detail

/* Owns a heap. Destroying it gives its memory back at once: its caches and objects are gone then, destructors do not run. */
class heap {
public:
	/* limit: most bytes in use at once, 0: none. */
	explicit heap(const char *name = nullptr, std::size_t limit = 0)
	{
		dry_heap_attr attr{};

		attr.name = name;
		attr.limit = limit;
		create(attr);
	}

	explicit heap(const dry_heap_attr &attr) { create(attr); }

	heap(heap &&other) noexcept : own(std::exchange(other.own, nullptr)) {}

	heap &operator=(heap &&other) noexcept
	{
		std::swap(own, other.own);
		return *this;
	}

	heap(const heap &) = delete;
	heap &operator=(const heap &) = delete;

	~heap()
	{
		if (own != nullptr)
			dry_heap_destroy(own);
	}

	operator dry_heap *() const noexcept { return own; } /* not explicit: drystone.h's functions take it */
	dry_heap *get() const noexcept { return own; }

	/* align: a power of two. */
	void *allocate(std::size_t size, std::size_t align = alignof(std::max_align_t)) { return detail::take(own, size, align); }
	void deallocate(void *block) noexcept { dry_free(own, block); }
	std::size_t trim() noexcept { return dry_heap_trim(own); }
	void reap() noexcept { dry_heap_reap(own); }

	struct dry_heap_stats stats() const noexcept
	{
		struct dry_heap_stats figures {};

		::dry_heap_stats(own, &figures);
		return figures;
	}

private:
	void create(const dry_heap_attr &attr)
	{
		own = dry_heap_create(&attr);
		if (own == nullptr)
			detail::fail(errno);
	}

	dry_heap *own = nullptr;
};

/*
 * A cache for objects of type T, aligned as T, which may own others by unique_ptr. It must outlive its objects: destroyed before
 * them, it says on standard error how many are left and stays. Any thread may make and unmake at any time.
 */
template <class T> class cache {
public:
	/* Runs the destructor and gives the object back to its cache. */
	class deleter {
	public:
		explicit deleter(dry_cache *from = nullptr) noexcept : home(from) {}

		void operator()(T *object) const noexcept
		{
			object->~T();
			dry_cache_free(home, const_cast<std::remove_cv_t<T> *>(object)); /* T may be const */
		}

	private:
		dry_cache *home;
	};

	using value_type = T;
	using unique_ptr = std::unique_ptr<T, deleter>;

	/* flags: DRY_CACHE_*. */
	explicit cache(const char *name, dry_heap *from = nullptr, unsigned flags = 0)
		: own(detail::create_cache(from, name, sizeof(T), alignof(T), flags))
	{
		static_assert(alignof(T) <= 65536, "drystone aligns objects to at most 65536 bytes");
	}

	cache(cache &&other) noexcept : own(std::exchange(other.own, nullptr)) {}

	cache &operator=(cache &&other) noexcept
	{
		std::swap(own, other.own);
		return *this;
	}

	cache(const cache &) = delete;
	cache &operator=(const cache &) = delete;
	~cache() { dry_cache_destroy(own); }

	/* A new T. What its constructor throws comes through; the object is given back first. */
	template <class... Arguments> [[nodiscard]] T *make(Arguments &&...arguments)
	{
		raw memory(own);

		T *object = ::new (memory.object) T(std::forward<Arguments>(arguments)...);
		memory.object = nullptr;
		return object;
	}

	template <class... Arguments> [[nodiscard]] unique_ptr make_unique(Arguments &&...arguments)
	{
		return unique_ptr(make(std::forward<Arguments>(arguments)...), deleter(own));
	}

	/* What make() gave; nullptr is ignored. */
	void unmake(T *object) noexcept
	{
		if (object != nullptr)
			deleter{ own }(object);
	}

	/* The next n of make() need no memory from the system; dry_cache_prefill() says more. It is for a cache with NO_MERGE. */
	void prefill(std::size_t n)
	{
		if (int error = dry_cache_prefill(own, n); error != 0)
			detail::fail(-error);
	}

	std::size_t shrink() noexcept { return dry_cache_shrink(own); }
	dry_cache *get() const noexcept { return own; }

	struct dry_cache_stats stats() const noexcept
	{
		struct dry_cache_stats figures {};

		::dry_cache_stats(own, &figures);
		return figures;
	}

private:
	struct raw { /* an object without a T in it */
		explicit raw(dry_cache *from) : home(from), object(detail::take(from)) {}
		raw(const raw &) = delete;
		raw &operator=(const raw &) = delete;
		~raw()
		{
			if (object != nullptr) /* nothing is left of it where T was made */
				dry_cache_free(home, object);
		}

		dry_cache *home;
		void *object;
	};

	dry_cache *own;
};

/* For the standard containers. Two are equal if their heaps are. */
template <class T> class allocator {
public:
	using value_type = T;
	using propagate_on_container_move_assignment = std::true_type;
	using propagate_on_container_swap = std::true_type;
	using is_always_equal = std::false_type;

	allocator(dry_heap *from = nullptr) noexcept : home(from) {}
	allocator(const heap &from) noexcept : home(from.get()) {} /* not explicit: containers take a heap as it is */
	template <class U> allocator(const allocator<U> &other) noexcept : home(other.get()) {}

	[[nodiscard]] T *allocate(std::size_t n)
	{
		if (n > static_cast<std::size_t>(-1) / sizeof(T))
			detail::fail(ENOMEM);
		return static_cast<T *>(detail::take(home, n * sizeof(T), alignof(T)));
	}

	void deallocate(T *block, std::size_t) noexcept { dry_free(home, block); }
	dry_heap *get() const noexcept { return home; }

private:
	dry_heap *home;
};

template <class T, class U> bool operator==(const allocator<T> &a, const allocator<U> &b) noexcept
{
	return detail::is_same_heap(a.get(), b.get());
}

template <class T, class U> bool operator!=(const allocator<T> &a, const allocator<U> &b) noexcept
{
	return !(a == b);
}

#if __has_include(<memory_resource>)
/* A heap as a resource; two are equal if their heaps are, without RTTI if they are one. The heap must outlive it. */
class resource final : public std::pmr::memory_resource {
public:
	explicit resource(dry_heap *from = nullptr) noexcept : home(from) {}
	dry_heap *get() const noexcept { return home; }

private:
	void *do_allocate(std::size_t size, std::size_t align) override { return detail::take(home, size, align); }
	void do_deallocate(void *block, std::size_t, std::size_t) override { dry_free(home, block); }

	bool do_is_equal(const std::pmr::memory_resource &other) const noexcept override
	{
#if defined(__cpp_rtti)
		const resource *same = dynamic_cast<const resource *>(&other);

		return same != nullptr && detail::is_same_heap(same->home, home);
#else
		return this == &other;
#endif
	}

	dry_heap *home;
};
#endif

} // namespace dry

/*
 * In a class, public: `DRY_CACHED(session);` - new and delete of a session take it from a cache "session" of the default heap,
 * which is made at the first and never destroyed. Objects of classes derived from it that are bigger, or aligned to more, are
 * blocks of the default heap; arrays are ::operator new's as before. A class that is deleted through a base needs a virtual
 * destructor, as ever. Where a constructor throws in `new (std::nothrow)`, nobody tells of which size the object is: dry_free()
 * finds out, but not that of libdrystone-sequential.
 */
#define DRY_CACHED(type)                                                                                        \
	static dry_cache *dry_class_cache() noexcept                                                            \
	{                                                                                                       \
		static std::atomic<dry_cache *> made{ nullptr };                                                \
		return ::dry::detail::class_cache(made, #type, sizeof(type), alignof(type));                    \
	}                                                                                                       \
	static constexpr bool dry_class_fits(std::size_t size, std::size_t align) noexcept                      \
	{                                                                                                       \
		return size == sizeof(type) && align <= alignof(type);                                          \
	}                                                                                                       \
	static void *operator new(std::size_t size)                                                             \
	{                                                                                                       \
		return ::dry::detail::take_class(dry_class_cache, size == sizeof(type), size, ::dry::detail::usual_align); \
	}                                                                                                       \
	static void *operator new(std::size_t size, std::align_val_t align)                                     \
	{                                                                                                       \
		return ::dry::detail::take_class(dry_class_cache, dry_class_fits(size, std::size_t(align)), size, \
						 std::size_t(align));                                           \
	}                                                                                                       \
	static void *operator new(std::size_t size, const std::nothrow_t &) noexcept                            \
	{                                                                                                       \
		return ::dry::detail::try_class(dry_class_cache, size == sizeof(type), size, ::dry::detail::usual_align); \
	}                                                                                                       \
	static void *operator new(std::size_t size, std::align_val_t align, const std::nothrow_t &) noexcept    \
	{                                                                                                       \
		return ::dry::detail::try_class(dry_class_cache, dry_class_fits(size, std::size_t(align)), size, \
						std::size_t(align));                                            \
	}                                                                                                       \
	static void *operator new(std::size_t, void *place) noexcept { return place; }                          \
	static void operator delete(void *, void *) noexcept {}                                                 \
	static void operator delete(void *object, std::size_t size) noexcept                                    \
	{                                                                                                       \
		::dry::detail::free_class(dry_class_cache, size == sizeof(type), object);                       \
	}                                                                                                       \
	static void operator delete(void *object, std::size_t size, std::align_val_t align) noexcept            \
	{                                                                                                       \
		::dry::detail::free_class(dry_class_cache, dry_class_fits(size, std::size_t(align)), object);   \
	}                                                                                                       \
	static void operator delete(void *object, const std::nothrow_t &) noexcept { dry_free(nullptr, object); } \
	static void operator delete(void *object, std::align_val_t, const std::nothrow_t &) noexcept            \
	{                                                                                                       \
		dry_free(nullptr, object);                                                                      \
	}                                                                                                       \
	static_assert(true, "")

#endif
