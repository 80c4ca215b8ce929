//! What operators see of turns: metrics, a log line and traces. None of them contains user text, and none can fail a turn.

mod export;
mod spans;
mod turn;

pub use export::SpanSender;
pub use spans::effect_span;
pub use turn::{TurnObserver, caller_span, refusal_reason};
