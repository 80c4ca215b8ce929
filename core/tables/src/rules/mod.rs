//! Rules: which apply, in which order, and what they do.

mod action;
mod pass;

pub use pass::run_pass;
