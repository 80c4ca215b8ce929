//! What start-up does not look at: rows that work, but hardly as their author meant.
//!
//! A finding is an error only when the row certainly cannot work. Nothing is reported of rows that are left out already. Checks
//! group rows by scope before they compare them, so that they stay fast on tens of thousands of rows.

mod binding;
mod condition;
mod fact;
pub mod flow;
mod ground;
mod pattern;
mod response;
mod rule;
mod schema;
mod state;
mod template;
mod tool;
mod variable;
mod verbose;

use crate::config::{Issue, Profile, Tables};
use ground::Ground;

/// Checks control tables as a profile reads them; `issues` are those of compiling them.
pub fn check(tables: &Tables, profile: &'static Profile, issues: &[Issue]) -> Vec<Issue> {
    let mut tables = tables.compiled();
    tables.0.retain(|table, _| profile.unread_tables().all(|it| it != table));
    let ground = Ground::of(&tables, profile, issues);
    let mut found = Vec::new();
    for check in [
        pattern::check,
        condition::check,
        rule::check,
        state::check,
        response::check,
        template::check,
        variable::check,
        schema::check,
        tool::check,
        binding::check,
        verbose::check,
    ] {
        check(&ground, &mut found);
    }
    found
}

#[cfg(test)]
mod tests;
