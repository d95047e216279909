// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! drystone, a slab allocator: [`Drystone`] as the global allocator, a [`Heap`] with a limit of its own, a [`Cache`] for
//! objects of one type.
//!
//! ```
//! #[global_allocator]
//! static GLOBAL: drystone::Drystone = drystone::Drystone;
//!
//! struct Point { x: i32, y: i32 }
//!
//! let heap = drystone::Heap::builder().name("points").limit(16 << 20).build()?;
//! let cache = drystone::Cache::new_in("point", &heap)?;
//! let mut point = cache.make(Point { x: 1, y: 2 })?;
//! point.y += 1;
//! assert_eq!((point.x, point.y), (1, 3));
//! assert_eq!(cache.stats().active_objects, 1);
//! # Ok::<(), drystone::Error>(())
//! ```
//!
//! With the feature `allocator-api2`, a `Heap` (and a reference to it) is an `Allocator` for that crate's collections.

mod cache;
mod global;
mod heap;

pub use cache::{Cache, Owned};
pub use drystone_sys::{self as sys, dry_cache_stats as CacheStats, dry_heap_stats as HeapStats};
pub use global::Drystone;
pub use heap::{Builder, Heap};

/// Why something could not be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Error {
    /// No memory, or the heap's limit is reached.
    NoMemory,
    /// A name with a zero byte in it, a size or an alignment that there is not.
    Invalid,
}

impl std::fmt::Display for Error {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Error::NoMemory => "out of memory",
            Error::Invalid => "invalid attribute",
        })
    }
}

impl std::error::Error for Error {}

/// What a failed call left in `errno`.
fn last_error() -> Error {
    const EINVAL: i32 = 22;

    match std::io::Error::last_os_error().raw_os_error() {
        Some(EINVAL) => Error::Invalid,
        _ => Error::NoMemory,
    }
}
