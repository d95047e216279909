// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! `<drystone/drystone.h>` as it is: every function and structure is described there. The crate `drystone` is the
//! interface for Rust.
#![no_std]
#![allow(non_camel_case_types)]

use core::ffi::{c_char, c_int, c_uint, c_void};

/// A heap; null means the default one.
#[repr(C)]
pub struct dry_heap {
    _private: [u8; 0],
}

#[repr(C)]
pub struct dry_cache {
    _private: [u8; 0],
}

#[repr(C)]
pub struct dry_grace {
    _private: [u8; 0],
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct dry_heap_attr {
    pub name: *const c_char,
    pub memory: *mut c_void,
    pub memory_size: usize,
    pub limit: usize,
    pub page_size: usize,
    pub nodes: c_uint,
    pub grace: *const dry_grace,
    pub source: *const c_void,
}

#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct dry_heap_stats {
    pub reserved: usize,
    pub in_use: usize,
    pub extents: usize,
    pub guarded: usize,
    pub dirty: usize,
    pub idle: usize,
    pub metadata: usize,
    pub caches: usize,
    pub slots: usize,
    pub allocs: u64,
    pub slow_allocs: u64,
    pub slow_frees: u64,
    pub failures: u64,
    pub reaps: u64,
    pub purged: u64,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct dry_cache_attr {
    pub name: *const c_char,
    pub size: usize,
    pub align: usize,
    pub flags: c_uint,
    pub ctor: Option<unsafe extern "C" fn(object: *mut c_void, arg: *mut c_void)>,
    pub dtor: Option<unsafe extern "C" fn(object: *mut c_void, arg: *mut c_void)>,
    pub arg: *mut c_void,
    pub reclaim: Option<unsafe extern "C" fn(arg: *mut c_void, bytes: usize) -> usize>,
    pub source: *const c_void,
    pub limit: c_uint,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct dry_cache_stats {
    pub name: *const c_char,
    pub object_size: usize,
    pub stride: usize,
    pub align: usize,
    pub flags: c_uint,
    pub mgmt: c_uint,
    pub objects_per_slab: c_uint,
    pub pages_per_slab: c_uint,
    pub colours: c_uint,
    pub waste: usize,
    pub limit: c_uint,
    pub batchcount: c_uint,
    pub shared: c_uint,
    pub aliases: c_uint,
    pub active_objects: usize,
    pub objects: usize,
    pub active_slabs: usize,
    pub slabs: usize,
    pub shared_objects: usize,
    pub cached_objects: usize,
    pub allocs: u64,
    pub slow_allocs: u64,
    pub slow_frees: u64,
    pub node_locks: u64,
    pub shared_locks: u64,
    pub node_waits: u64,
    pub slabs_made: u64,
    pub peak_slabs: usize,
    pub remote_frees: u64,
    pub failures: u64,
}

pub const DRY_CACHE_HWALIGN: c_uint = 0x0001;
pub const DRY_CACHE_NO_MERGE: c_uint = 0x0002;
pub const DRY_CACHE_POISON: c_uint = 0x0008;
pub const DRY_CACHE_RED_ZONE: c_uint = 0x0010;
pub const DRY_CACHE_STORE_USER: c_uint = 0x0020;
pub const DRY_CACHE_CHECKS: c_uint = 0x0040;
pub const DRY_CACHE_TRACE: c_uint = 0x0080;
pub const DRY_CACHE_QUARANTINE: c_uint = 0x20000;
pub const DRY_CACHE_DEBUG: c_uint = 0x200f8;

pub type dry_write = unsafe extern "C" fn(arg: *mut c_void, text: *const c_char, bytes: usize);

extern "C" {
    pub fn dry_version() -> *const c_char;

    pub fn dry_heap_create(attr: *const dry_heap_attr) -> *mut dry_heap;
    pub fn dry_heap_destroy(heap: *mut dry_heap) -> c_int;
    pub fn dry_heap_default() -> *mut dry_heap;
    pub fn dry_heap_reap(heap: *mut dry_heap);
    pub fn dry_heap_trim(heap: *mut dry_heap) -> usize;
    pub fn dry_heap_check(heap: *mut dry_heap) -> c_int;
    pub fn dry_heap_stats(heap: *mut dry_heap, stats: *mut dry_heap_stats) -> c_int;
    pub fn dry_heap_slabinfo(heap: *mut dry_heap, write: dry_write, arg: *mut c_void);

    pub fn dry_cache_create(heap: *mut dry_heap, attr: *const dry_cache_attr) -> *mut dry_cache;
    pub fn dry_cache_destroy(cache: *mut dry_cache) -> c_int;
    pub fn dry_cache_alloc(cache: *mut dry_cache) -> *mut c_void;
    pub fn dry_cache_zalloc(cache: *mut dry_cache) -> *mut c_void;
    pub fn dry_cache_free(cache: *mut dry_cache, object: *mut c_void);
    pub fn dry_cache_alloc_bulk(cache: *mut dry_cache, n: usize, objects: *mut *mut c_void) -> usize;
    pub fn dry_cache_free_bulk(cache: *mut dry_cache, n: usize, objects: *mut *mut c_void);
    pub fn dry_cache_prefill(cache: *mut dry_cache, n: usize) -> c_int;
    pub fn dry_cache_shrink(cache: *mut dry_cache) -> usize;
    pub fn dry_cache_check(cache: *mut dry_cache) -> c_int;
    pub fn dry_cache_stats(cache: *mut dry_cache, stats: *mut dry_cache_stats) -> c_int;

    pub fn dry_alloc(heap: *mut dry_heap, size: usize) -> *mut c_void;
    pub fn dry_zalloc(heap: *mut dry_heap, size: usize) -> *mut c_void;
    pub fn dry_alloc_aligned(heap: *mut dry_heap, align: usize, size: usize) -> *mut c_void;
    pub fn dry_realloc(heap: *mut dry_heap, object: *mut c_void, size: usize) -> *mut c_void;
    pub fn dry_free(heap: *mut dry_heap, object: *mut c_void);
    pub fn dry_usable_size(heap: *mut dry_heap, object: *const c_void) -> usize;
    pub fn dry_guard(mean: usize) -> c_int;

    #[doc(hidden)]
    pub static drystone_sys_sizes: [usize; 8];
}
