// SPDX-License-Identifier: MIT OR GPL-2.0-only
/* What Linux 6.1 alone asks of an allocator in place of SLAB. */
#include "slab/caches.h"
#include "slab/letters.h"

int __kmem_cache_create(struct kmem_cache *s, slab_flags_t flags)
{
	return dry_kernel_create(s, kmem_cache_flags(s->object_size, flags, s->name));
}

void __kmem_cache_release(struct kmem_cache *s)
{
}

slab_flags_t kmem_cache_flags(unsigned int object_size, slab_flags_t flags, const char *name)
{
	return dry_letters_flags(flags, name);
}

/* Another name for a cache that will do. */
struct kmem_cache *__kmem_cache_alias(const char *name, unsigned int size, unsigned int align, slab_flags_t flags,
				      void (*ctor)(void *))
{
	struct kmem_cache *s = find_mergeable(size, align, flags, name, ctor);

	if (s != NULL) {
		s->refcount++;
		s->object_size = max(s->object_size, size); /* which is what is zeroed, too */
	}
	return s;
}

#ifdef CONFIG_SMP
int slab_prepare_cpu(unsigned int cpu)
{
	dry_kernel_prepare_cpu(cpu);
	return 0;
}

int slab_dead_cpu(unsigned int cpu)
{
	return 0;
}
#endif
