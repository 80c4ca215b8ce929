//! Rules: which apply, in which order, and what they do.

mod act;
mod pass;

pub use pass::pass;
