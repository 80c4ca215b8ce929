//! Pending actions: resolving the turn's action, its lifecycle, and messages that wait for approval.

mod approval;
mod lifecycle;
mod option_choice;
mod registry;
mod runtime;
mod status;

pub use approval::{check_approval, store_pending_approval, take_answer};
pub use lifecycle::{current_decision, open_late, proceed, start, undo_decision};
pub use option_choice::choose_option;
pub use registry::{ActionChoice, ResolvedAction, explain_candidates, has_pending_action, resolve_action};
pub use runtime::ActionRuntime;
pub use status::{ActionEvent, ActionStatus};
