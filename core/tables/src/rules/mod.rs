//! Rules: when they run, whether their conditions hold, and what they do. Which rows are in scope, and in which order, says `config::rule`.

mod action;
mod pass;

pub use pass::run_pass;
