//! STOMP over WebSocket and SockJS for existing clients: frames, the server session and SockJS framing. Performs no I/O
//! (docs/spec/data-and-api.md#8.6).

pub mod frame;
pub mod outbox;
pub mod session;
pub mod socket;
pub mod sockjs;
pub mod xhr;
