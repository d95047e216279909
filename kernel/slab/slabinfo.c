// SPDX-License-Identifier: MIT OR GPL-2.0-only
/* /proc/slabinfo. */
#include <linux/seq_file.h>
#include <linux/uaccess.h>

#include "core/batch.h"
#include "core/reap.h"
#include "slab/caches.h"

void get_slabinfo(struct kmem_cache *s, struct slabinfo *sinfo)
{
	const struct dry_cache *cache = s->dry;
	size_t free_objects = 0, free_slabs = 0, shared = 0, slabs, singles;

	for (unsigned int n = 0; n < cache->caches->nodes; n++) {
		free_objects += READ_ONCE(cache->node[n].free_objects);
		free_slabs += READ_ONCE(cache->node[n].free_slabs);
		shared += READ_ONCE(cache->node[n].shared.avail);
	}
	slabs = dry_node_slabs(cache);
	singles = min(dry_node_singles(cache), slabs);
	/* Who multiplies slabs by pages of a slab gets what the cache has: single pages are as many slabs as have so many pages. */
	sinfo->num_slabs = slabs - singles + DIV_ROUND_UP(singles, (size_t)1 << cache->order);
	sinfo->num_objs = slabs * cache->num - singles * (cache->num - cache->num_single);
	sinfo->active_objs = sinfo->num_objs - min(free_objects, sinfo->num_objs);
	sinfo->active_slabs = min(slabs - min(free_slabs, slabs), sinfo->num_slabs);
	sinfo->shared_avail = shared;
	sinfo->limit = cache->limit;
	sinfo->batchcount = cache->batchcount;
	sinfo->shared = DRY_SHARED_FACTOR;
	sinfo->objects_per_slab = cache->num;
	sinfo->cache_order = cache->order;
}

void slabinfo_show_stats(struct seq_file *m, struct kmem_cache *s)
{
}

static int tune(const char *name, int limit, int batchcount)
{
	struct kmem_cache *s;

	list_for_each_entry(s, &slab_caches, list) {
		if (strcmp(s->name, name) != 0)
			continue;
		if (limit < 1 || batchcount < 1 || batchcount > limit || limit > (int)s->dry->room)
			return -EINVAL;
		return dry_cache_tune(s->dry, limit, batchcount) ? 0 : -EBUSY;
	}
	return -EINVAL;
}

/*
 * "name limit batchcount sharedfactor": arrays hold that many objects from now on, at most as many as they had room for at
 * first. The shared factor is taken, and stays what it is.
 */
ssize_t slabinfo_write(struct file *file, const char __user *buffer, size_t count, loff_t *ppos)
{
	int limit, batchcount, shared, error;
	char line[128], name[64];

	if (count >= sizeof(line))
		return -EINVAL;
	if (copy_from_user(line, buffer, count))
		return -EFAULT;
	line[count] = '\0';
	if (sscanf(line, "%63s %d %d %d", name, &limit, &batchcount, &shared) != 4 || shared < 0)
		return -EINVAL;
	mutex_lock(&slab_mutex);
	error = tune(name, limit, batchcount);
	mutex_unlock(&slab_mutex);
	return error != 0 ? error : (ssize_t)count;
}
