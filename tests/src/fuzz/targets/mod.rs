//! The fuzzing targets.

mod configuration;
mod journal;
mod text;
mod wire;

use super::Target;

/// All targets.
pub const TARGETS: [Target; 10] = [
    wire::BODY,
    wire::SETTINGS,
    wire::STOMP,
    text::TEMPLATE,
    text::FORMULA,
    text::PATH,
    configuration::RULES,
    configuration::PACK,
    configuration::TALK,
    journal::JOURNAL,
];

/// Returns an error's text without its quoted parts, as a description of the result.
fn describe_error(reason: impl std::fmt::Display) -> String {
    let reason = reason.to_string();
    let mut plain: String = reason.split(['\'', '"', '`']).step_by(2).collect();
    plain.truncate(plain.char_indices().nth(60).map_or(plain.len(), |it| it.0));
    plain
}

/// Returns a violation unless the condition is true.
fn require(condition: bool, violation: impl FnOnce() -> String) -> Result<(), String> {
    if condition { Ok(()) } else { Err(violation()) }
}
