// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! The global allocator: everything that this program allocates is drystone's.
use drystone::{Drystone, Heap};
use std::alloc::{GlobalAlloc, Layout};
use std::collections::HashMap;

// 64 MiB are looked for, and 48 must be found: other tests run meanwhile, but need less than that.

#[global_allocator]
static GLOBAL: Drystone = Drystone;

#[test]
fn program_allocates_from_the_default_heap() {
    let before = Heap::default_stats();
    let blocks: Vec<Vec<u8>> = (0..64).map(|i| vec![i; 1 << 20]).collect();
    let after = Heap::default_stats();

    assert!(after.in_use + after.extents >= before.in_use + before.extents + (48 << 20));
    assert!(blocks.iter().enumerate().all(|(i, block)| block.iter().all(|&byte| byte == i as u8)));
}

#[test]
fn threads_hand_over() {
    let threads: Vec<_> = (0..4)
        .map(|t| {
            std::thread::spawn(move || {
                (0..2000).map(|i| (i, format!("{t} has {i}"))).collect::<HashMap<i32, String>>()
            })
        })
        .collect();
    for (t, thread) in threads.into_iter().enumerate() {
        let map = thread.join().unwrap();
        assert_eq!(map[&1999], format!("{t} has 1999"));
    }
}

#[test]
fn alignments_and_sizes() {
    for align in (0..13).map(|shift| 1usize << shift) {
        for size in [1, 8, 15, 16, 24, 100, 5000, 100_000] {
            let layout = Layout::from_size_align(size, align).unwrap();
            unsafe {
                let block = GLOBAL.alloc(layout);
                assert!(!block.is_null() && block as usize % align == 0);
                block.write_bytes(0x5a, size);
                let more = GLOBAL.realloc(block, layout, size * 3);
                assert!(more as usize % align == 0);
                assert!((0..size).all(|i| more.add(i).read() == 0x5a));
                GLOBAL.dealloc(more, Layout::from_size_align(size * 3, align).unwrap());
                let zeroed = GLOBAL.alloc_zeroed(layout);
                assert!(zeroed as usize % align == 0 && (0..size).all(|i| zeroed.add(i).read() == 0));
                GLOBAL.dealloc(zeroed, layout);
            }
        }
    }
}

#[cfg(feature = "override")]
#[test]
fn malloc_is_replaced() {
    extern "C" {
        fn malloc(size: usize) -> *mut std::ffi::c_void;
        fn free(block: *mut std::ffi::c_void);
    }
    let before = Heap::default_stats();
    let blocks: Vec<_> = (0..64).map(|_| unsafe { malloc(1 << 20) }).collect();
    let after = Heap::default_stats();

    assert!(after.in_use + after.extents >= before.in_use + before.extents + (48 << 20));
    blocks.into_iter().for_each(|block| unsafe { free(block) });
}
