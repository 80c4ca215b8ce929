//! STOMP for clients of the original: its frames, its conversation, and SockJS around it. Nothing here does anything.
//! (`spec/data-and-api.md` 8.6)

pub mod frame;
pub mod session;
pub mod sockjs;
