//! Flow documents: their form, and what they are compiled to. (`convoship.md` 2, 3)

mod compiled;
pub mod document;
mod form;
mod import;
mod issue;
mod redacted;
mod schema;
mod shape;
mod snapshot;

pub use compiled::{Flow, GraphRef, IntentPhrases, REFUSED};
pub use form::form;
pub use import::imported;
pub use issue::{DocumentIssue, Weight};
pub use schema::schema;
pub use snapshot::snapshot;
