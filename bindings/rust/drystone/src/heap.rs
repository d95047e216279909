// SPDX-License-Identifier: MIT OR GPL-2.0-only
use crate::{last_error, Error};
use drystone_sys::*;
use std::ffi::CString;
use std::ptr::{null, null_mut, NonNull};

/// A heap of its own. Dropped, it gives all its memory back at once.
#[derive(Debug)]
pub struct Heap {
    raw: NonNull<dry_heap>,
}

// Every function of the library may be called by any thread.
unsafe impl Send for Heap {}
unsafe impl Sync for Heap {}

/// How a heap is made.
#[derive(Clone, Debug, Default)]
pub struct Builder {
    name: String,
    limit: usize,
    page_size: usize,
}

impl Builder {
    /// For reports; at most 31 bytes are kept.
    pub fn name(mut self, name: &str) -> Self {
        self.name = name.into();
        self
    }

    /// Most bytes of pages in use at once; 0: no limit.
    pub fn limit(mut self, bytes: usize) -> Self {
        self.limit = bytes;
        self
    }

    /// 4096, 16384 or 65536, not below the system's; 0: the system's.
    pub fn page_size(mut self, bytes: usize) -> Self {
        self.page_size = bytes;
        self
    }

    pub fn build(self) -> Result<Heap, Error> {
        let name = CString::new(self.name).map_err(|_| Error::Invalid)?;
        let attr = dry_heap_attr {
            name: if name.is_empty() { null() } else { name.as_ptr() },
            memory: null_mut(),
            memory_size: 0,
            limit: self.limit,
            page_size: self.page_size,
            nodes: 0,
            grace: null(),
        };
        match NonNull::new(unsafe { dry_heap_create(&attr) }) {
            Some(raw) => Ok(Heap { raw }),
            None => Err(last_error()),
        }
    }
}

impl Heap {
    pub fn new() -> Result<Heap, Error> {
        Builder::default().build()
    }

    pub fn builder() -> Builder {
        Builder::default()
    }

    /// For functions of [`crate::sys`].
    pub fn as_ptr(&self) -> *mut dry_heap {
        self.raw.as_ptr()
    }

    pub fn stats(&self) -> dry_heap_stats {
        stats_of(self.as_ptr())
    }

    /// Returns to the system all that is free, at once; how many bytes that were.
    pub fn trim(&self) -> usize {
        unsafe { dry_heap_trim(self.as_ptr()) }
    }

    /// One step of housekeeping; call it every second or two.
    pub fn reap(&self) {
        unsafe { dry_heap_reap(self.as_ptr()) }
    }

    /// Figures of the default heap, which [`crate::Drystone`] allocates from.
    pub fn default_stats() -> dry_heap_stats {
        stats_of(null_mut())
    }
}

fn stats_of(heap: *mut dry_heap) -> dry_heap_stats {
    let mut stats = dry_heap_stats::default();

    unsafe { dry_heap_stats(heap, &mut stats) };
    stats
}

impl Drop for Heap {
    fn drop(&mut self) {
        unsafe { dry_heap_destroy(self.as_ptr()) };
    }
}

#[cfg(feature = "allocator-api2")]
mod allocator {
    use super::Heap;
    use crate::global::{allocate, allocate_zeroed, resize};
    use allocator_api2::alloc::{AllocError, Allocator};
    use drystone_sys::dry_free;
    use std::alloc::Layout;
    use std::ptr::{null_mut, slice_from_raw_parts_mut, NonNull};

    fn block(start: *mut u8, size: usize) -> Result<NonNull<[u8]>, AllocError> {
        NonNull::new(slice_from_raw_parts_mut(start, size)).ok_or(AllocError)
    }

    /// Of no size: an address that is aligned and never read.
    fn nothing(layout: Layout) -> Result<NonNull<[u8]>, AllocError> {
        block(null_mut::<u8>().wrapping_add(layout.align()), 0)
    }

    unsafe impl Allocator for Heap {
        fn allocate(&self, layout: Layout) -> Result<NonNull<[u8]>, AllocError> {
            if layout.size() == 0 {
                return nothing(layout);
            }
            block(unsafe { allocate(self.as_ptr(), layout) }, layout.size())
        }

        fn allocate_zeroed(&self, layout: Layout) -> Result<NonNull<[u8]>, AllocError> {
            if layout.size() == 0 {
                return nothing(layout);
            }
            block(unsafe { allocate_zeroed(self.as_ptr(), layout) }, layout.size())
        }

        unsafe fn deallocate(&self, start: NonNull<u8>, layout: Layout) {
            if layout.size() != 0 {
                dry_free(self.as_ptr(), start.as_ptr().cast());
            }
        }

        unsafe fn grow(
            &self,
            start: NonNull<u8>,
            old: Layout,
            new: Layout,
        ) -> Result<NonNull<[u8]>, AllocError> {
            if old.size() == 0 || old.align() != new.align() {
                let fresh = self.allocate(new)?;
                fresh.cast::<u8>().as_ptr().copy_from_nonoverlapping(start.as_ptr(), old.size());
                self.deallocate(start, old);
                return Ok(fresh);
            }
            block(resize(self.as_ptr(), start.as_ptr(), old, new.size()), new.size())
        }
    }
}
