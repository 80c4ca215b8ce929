//! Flow documents: their form, and what they are compiled to. (`convoship.md` 2, 3)

mod issue;

pub use issue::{DocumentIssue, Weight};
