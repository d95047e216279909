// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! TLSF (crate rlsf) as a subject of the measurements. Its parameters are those of its
//! documentation's example, with first-level classes enough for the largest pool that is measured.
#![no_std]

use core::alloc::Layout;
use core::ffi::{c_char, c_void};
use core::mem::MaybeUninit;
use core::ptr::{addr_of_mut, null_mut, NonNull};
use rlsf::Tlsf;

type Subject = Tlsf<'static, u32, u32, 22, 16>;

/// bench/tiny/subject.h, struct kind.
#[repr(C)]
pub struct Kind {
    name: *const c_char,
    size: usize,
    align: usize,
    ctor: Option<extern "C" fn(*mut c_void)>,
    cache: *mut c_void,
}

static mut TLSF: Subject = Subject::new();

fn tlsf() -> &'static mut Subject {
    // One thread only.
    unsafe { &mut *addr_of_mut!(TLSF) }
}

const WORD: usize = core::mem::size_of::<usize>();
const BLOCK_ALIGN: usize = 2 * WORD; // what malloc promises

fn allocate(size: usize, align: usize) -> *mut c_void {
    match Layout::from_size_align(size.max(1), align.max(WORD)) {
        Ok(layout) => tlsf().allocate(layout).map_or(null_mut(), |p| p.as_ptr().cast()),
        Err(_) => null_mut(),
    }
}

fn deallocate(block: *mut c_void, align: usize) {
    if let Some(block) = NonNull::new(block.cast()) {
        unsafe { tlsf().deallocate(block, align.max(WORD)) }
    }
}

#[no_mangle]
pub extern "C" fn subject_name() -> *const c_char {
    c"rlsf".as_ptr()
}

#[no_mangle]
pub unsafe extern "C" fn subject_open(pool: *mut c_void, size: usize) -> bool {
    *tlsf() = Subject::new();
    let pool = core::slice::from_raw_parts_mut(pool.cast::<MaybeUninit<u8>>(), size);
    tlsf().insert_free_block(pool);
    true
}

#[no_mangle]
pub extern "C" fn subject_kind(_kind: *mut Kind) -> bool {
    true
}

#[no_mangle]
pub unsafe extern "C" fn subject_get(kind: *mut Kind) -> *mut c_void {
    allocate((*kind).size, (*kind).align)
}

#[no_mangle]
pub unsafe extern "C" fn subject_put(kind: *mut Kind, object: *mut c_void) {
    deallocate(object, (*kind).align)
}

#[no_mangle]
pub extern "C" fn subject_alloc(size: usize) -> *mut c_void {
    allocate(size, BLOCK_ALIGN)
}

#[no_mangle]
pub extern "C" fn subject_aligned(align: usize, size: usize) -> *mut c_void {
    allocate(size, align)
}

#[no_mangle]
pub unsafe extern "C" fn subject_resize(block: *mut c_void, _old_size: usize, size: usize) -> *mut c_void {
    match (NonNull::new(block.cast()), Layout::from_size_align(size.max(1), BLOCK_ALIGN)) {
        (Some(block), Ok(layout)) => tlsf().reallocate(block, layout).map_or(null_mut(), |p| p.as_ptr().cast()),
        _ => null_mut(),
    }
}

#[no_mangle]
pub extern "C" fn subject_free(block: *mut c_void, _size: usize) {
    deallocate(block, BLOCK_ALIGN)
}

#[no_mangle]
pub extern "C" fn subject_free_aligned(block: *mut c_void, align: usize) {
    deallocate(block, align)
}

#[no_mangle]
pub extern "C" fn subject_in_use() -> usize {
    0
}

#[panic_handler]
fn panic(_: &core::panic::PanicInfo) -> ! {
    loop {}
}
