//! A Python interpreter as one WebAssembly module without imports, which servers and browsers run alike.
//!
//! A host writes JSON into a buffer of `allocate`, calls `run` or `check`, and reads JSON at the address and length that they return. After a
//! trap it calls `explain_trap` for the result. It creates an instance for each call, so scripts share nothing.

#![cfg(target_family = "wasm")]

mod check;
mod log;
mod message;
mod meter;
mod modules;
mod random;
mod run;
mod source;
mod trap;
mod values;

use std::cell::RefCell;

use serde::Serialize;

/// Counts what scripts allocate, and aborts beyond the limit.
#[global_allocator]
static ALLOCATOR: monty_alloc::LimitedAllocator = monty_alloc::LimitedAllocator;

thread_local! {
    /// The buffer for the next message of the host.
    static MESSAGE: RefCell<Vec<u8>> = RefCell::default();
    /// The last result, which the host reads.
    static RESULT: RefCell<Vec<u8>> = RefCell::default();
}

/// Allocates the buffer for a message and returns its address.
#[allow(unsafe_code, reason = "hosts look up the exports by these names, which no other crate defines")]
#[unsafe(no_mangle)]
pub extern "C" fn allocate(length: u32) -> u32 {
    MESSAGE.with_borrow_mut(|message| {
        *message = vec![0; length as usize];
        message.as_mut_ptr() as u32
    })
}

/// Runs the script of a message; returns the address and length of the result.
#[allow(unsafe_code, reason = "hosts look up the exports by these names, which no other crate defines")]
#[unsafe(no_mangle)]
pub extern "C" fn run(_: u32, length: u32) -> u64 {
    encode(&run::run(&take_message(length)))
}

/// Checks the script of a message; returns the address and length of the result.
#[allow(unsafe_code, reason = "hosts look up the exports by these names, which no other crate defines")]
#[unsafe(no_mangle)]
pub extern "C" fn check(_: u32, length: u32) -> u64 {
    encode(&check::check(&take_message(length)))
}

/// Explains why the instance trapped; returns the address and length of the result that `run` did not return.
#[allow(unsafe_code, reason = "hosts look up the exports by these names, which no other crate defines")]
#[unsafe(no_mangle)]
pub extern "C" fn explain_trap() -> u64 {
    encode(&trap::explain())
}

/// The host wrote through the address that `allocate` returned, so the compiler must assume that the buffer has changed.
fn take_message(length: u32) -> Vec<u8> {
    let mut message = MESSAGE.take();
    message.truncate(length as usize);
    message
}

fn encode(result: &impl Serialize) -> u64 {
    let bytes = serde_json::to_vec(result).unwrap_or_default();
    let place = (u64::from(bytes.as_ptr() as u32) << 32) | bytes.len() as u64;
    // The buffer does not move with the vector.
    RESULT.set(bytes);
    place
}
