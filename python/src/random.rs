//! Bytes for hash tables and object identities, in place of a random source: equal in every instance, and invisible to scripts.

use std::sync::atomic::{AtomicU64, Ordering};

static NEXT: AtomicU64 = AtomicU64::new(1);

/// An odd constant whose multiples are spread evenly over all 64 bits.
const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

fn next_byte() -> u8 {
    let count = NEXT.fetch_add(1, Ordering::Relaxed);
    count.wrapping_mul(STEP).to_be_bytes()[0]
}

#[allow(unsafe_code, reason = "`getrandom` specifies this function for targets without a random source")]
#[unsafe(no_mangle)]
unsafe extern "Rust" fn __getrandom_v03_custom(bytes: *mut u8, length: usize) -> Result<(), getrandom::Error> {
    // SAFETY: `getrandom` passes a buffer of this length.
    let buffer = unsafe { std::slice::from_raw_parts_mut(bytes, length) };
    buffer.fill_with(next_byte);
    Ok(())
}
