// SPDX-License-Identifier: MIT OR GPL-2.0-only
use crate::{last_error, Error, Heap};
use drystone_sys::*;
use std::ffi::{c_void, CString};
use std::marker::PhantomData;
use std::mem::{align_of, size_of, MaybeUninit};
use std::ops::{Deref, DerefMut};
use std::ptr::{drop_in_place, null_mut, NonNull};

/// A cache for objects of type `T`, of a heap that outlives it.
#[derive(Debug)]
pub struct Cache<'heap, T> {
    raw: NonNull<dry_cache>,
    of: PhantomData<(&'heap Heap, *mut T)>,
}

// Every function of the library may be called by any thread; a cache has no `T`, its owners have.
unsafe impl<T> Send for Cache<'_, T> {}
unsafe impl<T> Sync for Cache<'_, T> {}

impl<T> Cache<'static, T> {
    /// Of the default heap.
    pub fn new(name: &str) -> Result<Self, Error> {
        create(null_mut(), name, 0)
    }

    /// Of the default heap, with flags `DRY_CACHE_*` of [`crate::sys`].
    pub fn with_flags(name: &str, flags: u32) -> Result<Self, Error> {
        create(null_mut(), name, flags)
    }
}

fn create<'heap, T>(heap: *mut dry_heap, name: &str, flags: u32) -> Result<Cache<'heap, T>, Error> {
    let name = CString::new(name).map_err(|_| Error::Invalid)?;
    let attr = dry_cache_attr {
        name: name.as_ptr(),
        size: size_of::<T>(),
        align: align_of::<T>(),
        flags,
        ctor: None,
        dtor: None,
        arg: core::ptr::null_mut(),
        reclaim: None,
        source: core::ptr::null(),
        limit: 0,
    };
    match NonNull::new(unsafe { dry_cache_create(heap, &attr) }) {
        Some(raw) => Ok(Cache { raw, of: PhantomData }),
        None => Err(last_error()),
    }
}

impl<'heap, T> Cache<'heap, T> {
    /// `T` has a size; the name is not empty.
    pub fn new_in(name: &str, heap: &'heap Heap) -> Result<Self, Error> {
        create(heap.as_ptr(), name, 0)
    }

    /// Moves the value into an object of the cache.
    pub fn make(&self, value: T) -> Result<Owned<'_, T>, Error> {
        match NonNull::new(unsafe { dry_cache_alloc(self.as_ptr()) }.cast::<T>()) {
            Some(object) => {
                unsafe { object.as_ptr().write(value) };
                Ok(Owned { object, cache: self.raw, of: PhantomData })
            }
            None => Err(Error::NoMemory),
        }
    }

    /// The next `n` objects need no memory from the system, if no other cache shares the slabs of this one.
    pub fn prefill(&self, n: usize) -> Result<(), Error> {
        match unsafe { dry_cache_prefill(self.as_ptr(), n) } {
            0 => Ok(()),
            _ => Err(Error::NoMemory),
        }
    }

    /// Gives free slabs back; how many.
    pub fn shrink(&self) -> usize {
        unsafe { dry_cache_shrink(self.as_ptr()) }
    }

    pub fn stats(&self) -> dry_cache_stats {
        let mut stats = MaybeUninit::zeroed();

        unsafe {
            dry_cache_stats(self.as_ptr(), stats.as_mut_ptr());
            stats.assume_init() // a null pointer and zeros at the least
        }
    }

    /// For functions of [`crate::sys`].
    pub fn as_ptr(&self) -> *mut dry_cache {
        self.raw.as_ptr()
    }
}

impl<T> Drop for Cache<'_, T> {
    /// If owners were forgotten, a line on standard error says how many, and the cache stays.
    fn drop(&mut self) {
        unsafe { dry_cache_destroy(self.as_ptr()) };
    }
}

/// A value in an object of a [`Cache`]; dropped, the object goes back.
#[derive(Debug)]
pub struct Owned<'cache, T> {
    object: NonNull<T>,
    cache: NonNull<dry_cache>,
    of: PhantomData<(&'cache (), T)>,
}

unsafe impl<T: Send> Send for Owned<'_, T> {}
unsafe impl<T: Sync> Sync for Owned<'_, T> {}

impl<T> Owned<'_, T> {
    /// Takes the value out again.
    pub fn into_inner(self) -> T {
        let value = unsafe { self.object.as_ptr().read() };

        unsafe { dry_cache_free(self.cache.as_ptr(), self.object.as_ptr().cast()) };
        std::mem::forget(self);
        value
    }
}

impl<T> Deref for Owned<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        unsafe { self.object.as_ref() }
    }
}

impl<T> DerefMut for Owned<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        unsafe { self.object.as_mut() }
    }
}

/// An object without a value in it; dropped, it goes back.
struct Room {
    object: *mut c_void,
    cache: *mut dry_cache,
}

impl Drop for Room {
    fn drop(&mut self) {
        unsafe { dry_cache_free(self.cache, self.object) };
    }
}

impl<T> Drop for Owned<'_, T> {
    fn drop(&mut self) {
        // As of a `Box`: also if the value's destructor panics.
        let _room = Room { object: self.object.as_ptr().cast(), cache: self.cache.as_ptr() };

        unsafe { drop_in_place(self.object.as_ptr()) };
    }
}
