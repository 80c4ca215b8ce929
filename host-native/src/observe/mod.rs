//! Observability of a server: metrics, traces and logs. None of them contains user text, and none can fail a turn.

mod export;
pub mod ids;
pub mod log;
pub mod meter;
pub mod names;
mod scrape;
mod spans;
mod turn;

pub use export::Traces;
pub use meter::Meter;
pub use scrape::{Described, begin, rendered};
pub use spans::of_effect;
pub use turn::{Seen, caller, reason};
