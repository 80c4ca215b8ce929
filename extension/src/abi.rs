//! The exported functions: messages come in through a buffer, answers go out through a record.

use std::cell::RefCell;

use crate::Extension;

/// The state between two calls of the host.
#[derive(Default)]
struct Guest {
    extension: Option<Extension>,
    /// The buffer for the next message of the host.
    message: Vec<u8>,
    /// The answer that the host reads after a call.
    answer: Vec<u8>,
    /// Address and length of the answer, which only the host reads.
    record: Box<[u32; 2]>,
}

thread_local! {
    static GUEST: RefCell<Guest> = RefCell::default();
}

/// Allocates the buffer for a message and returns its address.
pub fn alloc(len: u32) -> u32 {
    GUEST.with_borrow_mut(|guest| {
        guest.message = vec![0; len as usize];
        guest.message.as_mut_ptr() as u32
    })
}

/// Starts a call and returns the address of the answer's record.
pub fn start(extension: Extension, len: u32) -> u32 {
    GUEST.with_borrow_mut(|guest| guest.extension = Some(extension));
    tell(len, Extension::start)
}

/// Continues a call and returns the address of the answer's record.
pub fn resume(len: u32) -> u32 {
    tell(len, Extension::resume)
}

fn tell(len: u32, handle: fn(&mut Extension, &[u8]) -> Vec<u8>) -> u32 {
    GUEST.with_borrow_mut(|guest| {
        // The host wrote through the address that `alloc` returned, so the compiler must assume that the buffer has changed.
        let mut message = std::mem::take(&mut guest.message);
        message.truncate(len as usize);
        guest.answer = guest.extension.as_mut().map(|extension| handle(extension, &message)).unwrap_or_default();
        *guest.record = [guest.answer.as_ptr() as u32, guest.answer.len() as u32];
        guest.record.as_ptr() as u32
    })
}
