# SPDX-License-Identifier: MIT OR GPL-2.0-only
"""drystone in a source of Linux 6.1: under mm/drystone, and the few changes to files of the kernel. For scripts/kernel."""
import filecmp
import os
import shutil
import sys

HOME = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
# Each is found by its text and made once.
EDITS = [
    # (file, what is there, what is there afterwards)
    ("mm/Makefile", "obj-$(CONFIG_SLAB) += slab.o\n", "ifndef CONFIG_DRYSTONE\nobj-$(CONFIG_SLAB) += slab.o\nendif\nobj-y += drystone/\n"),
    ("mm/Makefile", "obj-$(CONFIG_SLOB) += slob.o\n", "ifndef CONFIG_DRYSTONE_TINY\nobj-$(CONFIG_SLOB) += slob.o\nendif\n"),
    ("mm/Kconfig", "config SLAB_MERGE_DEFAULT\n", 'source "mm/drystone/Kconfig"\n\nconfig SLAB_MERGE_DEFAULT\n'),
    ("mm/slab.h", "#if defined(CONFIG_SLAB)\n\n\tunion {",
     '#if defined(CONFIG_DRYSTONE)\n#include "drystone/slab/slab_fields.h"\n#elif defined(CONFIG_SLAB)\n\n\tunion {'),
    ("mm/slab.h", "#ifdef CONFIG_SLAB\n#include <linux/slab_def.h>\n",
     '#if defined(CONFIG_DRYSTONE)\n#include "drystone/slab/cache_def.h"\n#elif defined(CONFIG_SLAB)\n#include <linux/slab_def.h>\n'),
    # As in later kernels: bits of a slab are not to be taken for a movable page's mapping.
    ("mm/migrate.c", "\tif (unlikely(!__PageMovable(page)))\n\t\tgoto out_putpage;\n",
     "\tif (unlikely(PageSlab(page)) || unlikely(!__PageMovable(page)))\n\t\tgoto out_putpage;\n"),
    # UML walks a process's mappings without the lock, which lockdep tells.
    ("arch/um/kernel/tlb.c", "\tfor_each_vma(vmi, vma)\n\t\tfix_range(mm, vma->vm_start, vma->vm_end, 1);\n",
     "\tmmap_read_lock(mm);\n\tfor_each_vma(vmi, vma)\n\t\tfix_range(mm, vma->vm_start, vma->vm_end, 1);\n\tmmap_read_unlock(mm);\n"),
    # UML on a host whose registers are larger than it knows: then those of old, as where it cannot ask for the others at all.
    ("arch/x86/um/os-Linux/registers.c", "\tif (ptrace(PTRACE_GETREGSET, pid, NT_X86_XSTATE, &iov) == 0)\n\t\thave",
     "\tif (ptrace(PTRACE_GETREGSET, pid, NT_X86_XSTATE, &iov) == 0 &&\n\t    ptrace(PTRACE_SETREGSET, pid, NT_X86_XSTATE, &iov) == 0)\n\t\thave"),
]


def edit(path, before, after):
    with open(path, encoding="utf-8") as file:
        text = file.read()
    if after in text:
        return
    if text.count(before) != 1:
        sys.exit("%s: not the source that was expected: %r" % (path, before))
    with open(path, "w", encoding="utf-8") as file:
        file.write(text.replace(before, after))


def copy(source, target):
    """Only what differs, so that make builds no more than it must."""
    for folder, _, files in os.walk(source):
        into = os.path.join(target, os.path.relpath(folder, source))
        os.makedirs(into, exist_ok=True)
        for name in files:
            here, there = os.path.join(folder, name), os.path.join(into, name)
            if not os.path.exists(there) or not filecmp.cmp(here, there, shallow=False):
                shutil.copyfile(here, there)


def add(tree):
    """Doing it again brings the files up to date."""
    ours = os.path.join(tree, "mm/drystone")
    copy(os.path.join(HOME, "kernel"), ours)
    for layer in ("src/base", "src/core", "src/tiny", "src/port", "include"):
        copy(os.path.join(HOME, layer), os.path.join(ours, "drystone", layer))
    for name, before, after in EDITS:
        edit(os.path.join(tree, name), before, after)
