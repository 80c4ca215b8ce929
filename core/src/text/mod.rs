//! Text: patterns and templates.

pub mod regex;
pub mod template;
