# SPDX-License-Identifier: MIT OR GPL-2.0-only
"""drystone in a source of Linux: under mm/drystone, and the few changes to files of the kernel. For scripts/kernel."""
import filecmp
import os
import shutil
import sys

HOME = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
# UML on a host whose registers are larger than it knows: then those of old, as where it cannot ask for the others at all.
OLD_REGISTERS = ("arch/x86/um/os-Linux/registers.c", "\tif (ptrace(PTRACE_GETREGSET, pid, NT_X86_XSTATE, &iov) == 0)\n",
                 "\tif (ptrace(PTRACE_GETREGSET, pid, NT_X86_XSTATE, &iov) == 0 &&\n"
                 "\t    ptrace(PTRACE_SETREGSET, pid, NT_X86_XSTATE, &iov) == 0)\n")
KCONFIG = ("mm/Kconfig", "config SLAB_MERGE_DEFAULT\n", 'source "mm/drystone/Kconfig"\n\nconfig SLAB_MERGE_DEFAULT\n')
# Of a version. Each is found by its text and made once.
EDITS = {"6.1": [
    # (file, what is there, what is there afterwards)
    KCONFIG, OLD_REGISTERS,
    ("mm/Makefile", "obj-$(CONFIG_SLAB) += slab.o\n", "ifndef CONFIG_DRYSTONE\nobj-$(CONFIG_SLAB) += slab.o\nendif\nobj-y += drystone/\n"),
    ("mm/Makefile", "obj-$(CONFIG_SLOB) += slob.o\n", "ifndef CONFIG_DRYSTONE_TINY\nobj-$(CONFIG_SLOB) += slob.o\nendif\n"),
    ("mm/slab.c", "\tif (set_objfreelist_slab_cache(cachep, size, flags)) {\n",
     "\tif (!IS_ENABLED(CONFIG_DRYSTONE_PLAIN_SLAB) && set_objfreelist_slab_cache(cachep, size, flags)) {\n"),
    ("mm/slab.h", "#if defined(CONFIG_SLAB)\n\n\tunion {",
     '#if defined(CONFIG_DRYSTONE)\n#include "drystone/version/slab_fields.h"\n#elif defined(CONFIG_SLAB)\n\n\tunion {'),
    ("mm/slab.h", "#ifdef CONFIG_SLAB\n#include <linux/slab_def.h>\n",
     '#if defined(CONFIG_DRYSTONE)\n#include "drystone/slab/cache_def.h"\n#elif defined(CONFIG_SLAB)\n#include <linux/slab_def.h>\n'),
    # As in later kernels: bits of a slab are not to be taken for a movable page's mapping.
    ("mm/migrate.c", "\tif (unlikely(!__PageMovable(page)))\n\t\tgoto out_putpage;\n",
     "\tif (unlikely(PageSlab(page)) || unlikely(!__PageMovable(page)))\n\t\tgoto out_putpage;\n"),
    # And after that: a tree that has it already gets this one, too.
    ("mm/migrate.c", "\tif (unlikely(PageSlab(page)) || unlikely(!__PageMovable(page)))\n\t\tgoto out_putpage;\n",
     "\tif (unlikely(PageSlab(page)) || unlikely(!__PageMovable(page)))\n\t\tgoto out_putpage;\n"
     "\tsmp_rmb(); /* what was no slab may have become one before its mapping was read */\n"
     "\tif (unlikely(PageSlab(page)))\n\t\tgoto out_putpage;\n"),
    # Nor is a slab a page to migrate, split, or wait for, for who takes memory away: pages with errors, and blocks that go.
    ("mm/memory-failure.c", "\tif ((flags & MF_SOFT_OFFLINE) && __PageMovable(page))\n",
     "\tif ((flags & MF_SOFT_OFFLINE) && __PageMovable(page) && !PageSlab(page))\n"),
    ("mm/page_isolation.c", "\t\t\t} else if (!PageLRU(head) && !__PageMovable(head)) {\n",
     "\t\t\t} else if (!PageLRU(head) && (!__PageMovable(head) || PageSlab(head))) {\n"),
    ("mm/page_isolation.c", "\t\tif (__PageMovable(page) || PageLRU(page))\n\t\t\tcontinue;\n",
     "\t\tif ((__PageMovable(page) && !PageSlab(page)) || PageLRU(page))\n\t\t\tcontinue;\n"),
    # UML walks a process's mappings without the lock, which lockdep tells.
    ("arch/um/kernel/tlb.c", "\tfor_each_vma(vmi, vma)\n\t\tfix_range(mm, vma->vm_start, vma->vm_end, 1);\n",
     "\tmmap_read_lock(mm);\n\tfor_each_vma(vmi, vma)\n\t\tfix_range(mm, vma->vm_start, vma->vm_end, 1);\n\tmmap_read_unlock(mm);\n"),
], "6.12": [
    KCONFIG, OLD_REGISTERS,
    ("mm/Makefile", "obj-y += slub.o\n", "ifndef CONFIG_DRYSTONE\nobj-y += slub.o\nendif\nobj-y += drystone/\n"),
    # What lies over a page, and what a cache is: ours, else all that stands there, up to the page's type and the allocator's state.
    ("mm/slab.h", "\tstruct kmem_cache *slab_cache;\n",
     '\tstruct kmem_cache *slab_cache;\n#ifdef CONFIG_DRYSTONE\n#include "drystone/version/slab_fields.h"\n#else\n'),
    ("mm/slab.h", "\tunsigned int __page_type;\n", "#endif\n\tunsigned int __page_type;\n"),
    ("mm/slab.h", "struct kmem_cache_order_objects {\n",
     '#ifdef CONFIG_DRYSTONE\n#include "drystone/slab/cache_def.h"\n#else\nstruct kmem_cache_order_objects {\n'),
    ("mm/slab.h", "enum slab_state {\n", "#endif\nenum slab_state {\n"),
    # Tunables can be written.
    ("mm/slab_common.c", "#define SLABINFO_RIGHTS (0400)\n",
     "#ifdef CONFIG_DRYSTONE\n#define SLABINFO_RIGHTS 0600\n#else\n#define SLABINFO_RIGHTS (0400)\n#endif\n"),
    ("mm/slab_common.c", "\t.proc_open\t= slabinfo_open,\n",
     "#ifdef CONFIG_DRYSTONE\n\t.proc_write\t= slabinfo_write,\n#endif\n\t.proc_open\t= slabinfo_open,\n"),
    # As in 6.1, with which a block of memory that is to go is refused for a slab.
    ("mm/page_isolation.c", "\t\t\t} else if (!folio_test_lru(folio) && !__folio_test_movable(folio)) {\n",
     "\t\t\t} else if (!folio_test_lru(folio) && (!__folio_test_movable(folio) || folio_test_slab(folio))) {\n"),
    ("mm/page_isolation.c", "\t\tif (__PageMovable(page) || PageLRU(page))\n\t\t\tcontinue;\n",
     "\t\tif ((__PageMovable(page) && !PageSlab(page)) || PageLRU(page))\n\t\t\tcontinue;\n"),
    # Of a process that could not be copied UML takes the mark behind its last mapping for one more, as when allocations fail.
    ("arch/um/kernel/tlb.c", "\tfor_each_vma(vmi, vma)\n\t\tum_tlb_mark_sync(mm,", "\tfor_each_vma(vmi, vma)\n\t\tif (!xa_is_zero(vma))\n"
     "\t\t\tum_tlb_mark_sync(mm,"),
]}


def edit(path, before, after):
    with open(path, encoding="utf-8") as file:
        text = file.read()
    if after in text:
        return
    if text.count(before) != 1:
        sys.exit("%s: not the source that was expected (remove its tree to have it unpacked anew): %r" % (path, before))
    with open(path, "w", encoding="utf-8") as file:
        file.write(text.replace(before, after))


def copy_file(here, there):
    """Only what differs, so that make builds no more than it must."""
    if not os.path.exists(there) or not filecmp.cmp(here, there, shallow=False):
        shutil.copyfile(here, there)


def copy(source, target):
    for folder, _, files in os.walk(source):
        into = os.path.join(target, os.path.relpath(folder, source))
        os.makedirs(into, exist_ok=True)
        for name in files:
            copy_file(os.path.join(folder, name), os.path.join(into, name))


def add(tree, version):
    """Doing it again brings the files up to date."""
    ours = os.path.join(tree, "mm/drystone")
    for folder in ("include", "port", "slab", "test", "tiny"):
        copy(os.path.join(HOME, "kernel", folder), os.path.join(ours, folder))
    for name in ("Kbuild", "Kconfig"):
        copy_file(os.path.join(HOME, "kernel", name), os.path.join(ours, name))
    copy(os.path.join(HOME, "kernel/linux-" + version), os.path.join(ours, "version"))
    for layer in ("src/base", "src/core", "src/debug", "src/tiny", "src/port", "include"):
        copy(os.path.join(HOME, layer), os.path.join(ours, "drystone", layer))
    for name, before, after in EDITS[version]:
        edit(os.path.join(tree, name), before, after)
