//! Flow documents: the check of their structure, their JSON Schema, and their compiled form. (docs/spec/flows.md#2, docs/spec/flows.md#3)

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
