// SPDX-License-Identifier: MIT OR GPL-2.0-only
use drystone_sys::*;
use std::alloc::{GlobalAlloc, Layout};
use std::mem::size_of;
use std::ptr::null_mut;

/// The default heap as the global allocator.
#[derive(Clone, Copy, Debug, Default)]
pub struct Drystone;

/// `dry_alloc()` aligns to two pointers, below 16 bytes to 8.
fn is_usual(layout: Layout) -> bool {
    layout.align() <= 8 || (layout.align() <= 2 * size_of::<usize>() && layout.size() >= 16)
}

/// # Safety
/// `heap` is null or lives; the size is not 0.
pub(crate) unsafe fn allocate(heap: *mut dry_heap, layout: Layout) -> *mut u8 {
    if is_usual(layout) {
        dry_alloc(heap, layout.size()).cast()
    } else {
        dry_alloc_aligned(heap, layout.align(), layout.size()).cast()
    }
}

/// # Safety
/// As `allocate`.
pub(crate) unsafe fn allocate_zeroed(heap: *mut dry_heap, layout: Layout) -> *mut u8 {
    if is_usual(layout) {
        return dry_zalloc(heap, layout.size()).cast();
    }
    let block = allocate(heap, layout);
    if !block.is_null() {
        block.write_bytes(0, layout.size());
    }
    block
}

/// # Safety
/// `block` is `heap`'s, of `layout`; `size` is not 0.
pub(crate) unsafe fn resize(heap: *mut dry_heap, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
    let wanted = Layout::from_size_align_unchecked(size, layout.align());

    if is_usual(wanted) {
        return dry_realloc(heap, block.cast(), size).cast();
    }
    let moved = allocate(heap, wanted);
    if !moved.is_null() {
        moved.copy_from_nonoverlapping(block, layout.size().min(size));
        dry_free(heap, block.cast());
    }
    moved
}

unsafe impl GlobalAlloc for Drystone {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        allocate(null_mut(), layout)
    }

    unsafe fn dealloc(&self, block: *mut u8, _layout: Layout) {
        dry_free(null_mut(), block.cast())
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        allocate_zeroed(null_mut(), layout)
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        resize(null_mut(), block, layout, size)
    }
}
