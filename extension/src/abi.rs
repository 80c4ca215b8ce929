//! The exports: a message comes in by a buffer, an answer goes out by a record.

use std::cell::RefCell;

use crate::Extension;

/// What stays between two calls of the host.
#[derive(Default)]
struct Guest {
    extension: Option<Extension>,
    /// Where the host writes the next message.
    message: Vec<u8>,
    /// What the host reads after a call.
    answer: Vec<u8>,
    /// Where that is and how long: read by the host alone.
    record: Box<[u32; 2]>,
}

thread_local! {
    static GUEST: RefCell<Guest> = RefCell::default();
}

/// Makes room for a message.
pub fn alloc(len: u32) -> u32 {
    GUEST.with_borrow_mut(|guest| {
        guest.message = vec![0; len as usize];
        guest.message.as_mut_ptr() as u32
    })
}

/// Starts a call.
pub fn start(extension: Extension, len: u32) -> u32 {
    GUEST.with_borrow_mut(|guest| guest.extension = Some(extension));
    tell(len, Extension::start)
}

/// Goes on with a call.
pub fn resume(len: u32) -> u32 {
    tell(len, Extension::resume)
}

fn tell(len: u32, say: fn(&mut Extension, &[u8]) -> Vec<u8>) -> u32 {
    GUEST.with_borrow_mut(|guest| {
        // The host wrote through the address that `alloc` gave it, which the compiler has to expect.
        let mut message = std::mem::take(&mut guest.message);
        message.truncate(len as usize);
        guest.answer = guest.extension.as_mut().map(|it| say(it, &message)).unwrap_or_default();
        *guest.record = [guest.answer.as_ptr() as u32, guest.answer.len() as u32];
        guest.record.as_ptr() as u32
    })
}
