//! Pending actions: resolving the turn's action, its lifecycle, and messages that wait for approval.

mod approval;
mod choice;
mod lifecycle;
mod registry;
mod runtime;

pub use approval::{approval, take_answer, wait};
pub use choice::choose;
pub use lifecycle::{decision, open_late, proceed, put_back, start};
pub use registry::{Choice, Named, considered, is_pending, named};
pub use runtime::{Runtime, Status};
