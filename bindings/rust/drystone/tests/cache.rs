// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Heaps and caches.
use drystone::{sys, Cache, Error, Heap};
use std::ffi::{c_char, c_void};
use std::ptr::null_mut;
use std::sync::atomic::{AtomicUsize, Ordering};

static DROPPED: AtomicUsize = AtomicUsize::new(0);

#[repr(align(64))]
struct Item {
    value: usize,
    text: String,
}

impl Drop for Item {
    fn drop(&mut self) {
        DROPPED.fetch_add(1, Ordering::Relaxed);
    }
}

fn item(value: usize) -> Item {
    Item { value, text: value.to_string() }
}

#[test]
fn objects_are_dropped_and_given_back() {
    let heap = Heap::builder().name("items").build().unwrap();
    let cache = Cache::new_in("item", &heap).unwrap();
    let mut owned: Vec<_> = (0..1000).map(|i| cache.make(item(i)).unwrap()).collect();

    assert_eq!(cache.stats().active_objects, 1000);
    assert!(owned.iter().enumerate().all(|(i, o)| o.value == i && raw_address(o) % 64 == 0));
    owned[5].value = 7;
    let taken = owned.remove(5).into_inner();
    assert_eq!((taken.value, taken.text.as_str(), cache.stats().active_objects), (7, "5", 999));
    let before = DROPPED.load(Ordering::Relaxed);
    drop(owned);
    assert_eq!(DROPPED.load(Ordering::Relaxed) - before, 999);
    assert_eq!(cache.stats().active_objects, 0);
}

struct Panics;

impl Drop for Panics {
    fn drop(&mut self) {
        std::panic::resume_unwind(Box::new(()));
    }
}

#[test]
fn an_object_goes_back_when_its_destructor_panics() {
    let cache = Cache::<(u64, Panics)>::with_flags("panics", sys::DRY_CACHE_NO_MERGE).unwrap();
    let owned = cache.make((1, Panics)).unwrap();

    assert!(std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| drop(owned))).is_err());
    assert_eq!(cache.stats().active_objects, 0);
}

fn raw_address(item: &Item) -> usize {
    item as *const Item as usize
}

#[test]
fn threads_share_a_cache() {
    let cache = Cache::<[u64; 5]>::with_flags("shared", sys::DRY_CACHE_NO_MERGE).unwrap();

    std::thread::scope(|scope| {
        for t in 0..4 {
            let cache = &cache;
            scope.spawn(move || {
                let made: Vec<_> = (0..500).map(|i| cache.make([t, i, 0, 0, 0]).unwrap()).collect();
                assert!(made.iter().enumerate().all(|(i, o)| o[0] == t && o[1] == i as u64));
            });
        }
    });
    assert_eq!(cache.stats().active_objects, 0);
}

#[test]
fn a_heap_ends_at_its_limit() {
    let heap = Heap::builder().limit(1 << 20).build().unwrap();
    let cache = Cache::<[u8; 4000]>::new_in("page", &heap).unwrap();
    let mut made = Vec::new();
    let error = loop {
        match cache.make([0; 4000]) {
            Ok(page) => made.push(page),
            Err(error) => break error,
        }
        assert!(made.len() < 300);
    };

    assert_eq!(error, Error::NoMemory);
    assert!(made.len() > 100 && heap.stats().in_use <= 1 << 20);
    drop(made);
    assert!(cache.make([1; 4000]).is_ok());
}

extern "C" {
    fn dry_heap_owners(
        heap: *mut sys::dry_heap,
        write: sys::dry_write,
        arg: *mut c_void,
        objects: *mut usize,
        bytes: *mut usize,
    );
}

unsafe extern "C" fn append(arg: *mut c_void, text: *const c_char, bytes: usize) {
    (*arg.cast::<Vec<u8>>()).extend_from_slice(std::slice::from_raw_parts(text.cast(), bytes));
}

#[test]
fn stacks_begin_in_the_program() {
    let cache = Cache::<u64>::with_flags("owned", sys::DRY_CACHE_STORE_USER).unwrap();
    let object = cache.make(1).unwrap();
    let mut text: Vec<u8> = Vec::new();

    unsafe {
        dry_heap_owners(null_mut(), append, std::ptr::addr_of_mut!(text).cast(), null_mut(), null_mut())
    };
    let text = String::from_utf8(text).unwrap();
    let first = text.lines().nth(1).unwrap();
    assert!(!first.contains("dry_") && text.contains("stacks_begin_in_the_program"), "{text}");
    drop(object);
}

#[test]
fn what_there_is_not() {
    assert_eq!(Cache::<u64>::new("").err(), Some(Error::Invalid));
    assert_eq!(Cache::<()>::new("nothing").err(), Some(Error::Invalid));
    assert_eq!(Cache::<u64>::new("a\0b").err(), Some(Error::Invalid));
    assert_eq!(Heap::builder().page_size(5000).build().err(), Some(Error::Invalid));
}

#[cfg(feature = "allocator-api2")]
#[test]
fn collections_in_a_heap() {
    use allocator_api2::{alloc::Allocator, boxed::Box, vec::Vec};
    use std::alloc::Layout;

    let heap = Heap::builder().name("collections").limit(8 << 20).build().unwrap();
    let mut numbers = Vec::new_in(&heap);
    for i in 0..100_000u32 {
        numbers.push(i);
    }
    numbers.truncate(10);
    numbers.shrink_to_fit();
    assert_eq!(numbers[9], 9);
    let boxed = Box::new_in([3u64; 100], &heap);
    assert_eq!(boxed[99], 3);
    let nothing: Vec<(), _> = Vec::new_in(&heap);
    assert!(nothing.is_empty());
    assert!(heap.allocate(Layout::new::<[u8; 16 << 20]>()).is_err());
    assert!(heap.stats().in_use + heap.stats().extents > 0);
}
