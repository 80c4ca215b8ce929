//! Whether a document has the form of flow documents. (`convoship.md` 11 D)

mod checker;
mod place;
mod words;

#[cfg(test)]
mod tests;

use serde_json::Value;

use self::checker::Checker;
use self::place::Place;
use super::issue::DocumentIssue;
use super::shape::{DOCUMENT, Shape};

/// How many bytes a document may have as JSON without white space.
const LARGEST: usize = 4 * 1024 * 1024;

/// What is wrong with the form of a document: first with what it lists, then by graphs and nodes. A thousand errors and a
/// thousand warnings are told of at most.
///
/// Bounds for which publishing has a code of its own are reported by that: `N002` `N006` `V006` `K004` `A004` `B005` `T006`.
pub fn form(source: &Value) -> Vec<DocumentIssue> {
    let mut checker = Checker::of(source);
    let place = Place::document();
    // Without white space.
    let size = crate::json::length(source).unwrap_or_default();
    if size > LARGEST {
        let message = format!("the document has {size} bytes, and at most {LARGEST} are possible");
        checker.error(|| place.error("D005", message).fix("split the assistant, or move long texts out of it"));
    }
    checker.check(&Shape::Named(&DOCUMENT), source, &place);
    checker.issues
}
