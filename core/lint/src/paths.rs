//! The names in JSON paths, and in definitions that are no JSON.

use std::cell::RefCell;

use convengine_text::json::path::{JsonPath, KnownType};

/// Returns the paths that a condition reads, with those of nested filters.
pub(super) fn paths_of(source: &str) -> Vec<String> {
    let read = RefCell::new(Vec::new());
    if let Ok(path) = JsonPath::compile(source) {
        path.satisfiability(|names| {
            read.borrow_mut().push(names.join("."));
            KnownType::Object
        });
    }
    read.into_inner()
}

/// Returns the words of a non-JSON definition, which include its field names.
pub(super) fn split_words(text: &str) -> Vec<String> {
    text.split(|character: char| !(character.is_alphanumeric() || character == '_'))
        .filter(|it| !it.is_empty())
        .map(str::to_owned)
        .collect()
}
