// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! The structures are C's.
use drystone_sys::*;
use std::mem::{offset_of, size_of};

#[test]
fn structures_are_as_in_c() {
    let ours = [
        size_of::<dry_heap_attr>(),
        offset_of!(dry_heap_attr, grace),
        size_of::<dry_heap_stats>(),
        offset_of!(dry_heap_stats, purged),
        size_of::<dry_cache_attr>(),
        offset_of!(dry_cache_attr, limit),
        size_of::<dry_cache_stats>(),
        offset_of!(dry_cache_stats, failures),
    ];
    assert_eq!(ours, unsafe { drystone_sys_sizes });
}

#[test]
fn version_is_the_crates() {
    let version = unsafe { std::ffi::CStr::from_ptr(dry_version()) };
    assert_eq!(version.to_str(), Ok(env!("CARGO_PKG_VERSION")));
}
