//! Lint for control tables and flow documents: finds rows that load but probably do not work as intended.
//!
//! A finding is an error only if the row certainly cannot work. Rows that compiling already rejected are skipped: their issues
//! belong to [`convengine_config`]. Checks group rows by scope before they compare them, so they stay fast on tens of thousands of rows.

mod binding;
mod condition;
mod consent;
mod context;
pub mod flow;
mod known_paths;
mod pattern;
mod response;
mod rule;
mod schema;
mod state;
mod template;
mod tool;
mod variable;
mod verbose;

use convengine_config::{Issue, Profile, Tables};

use context::LintContext;

/// Lints control tables for a profile. `issues` are the issues of compiling these tables.
pub fn check(tables: &Tables, profile: &'static Profile, issues: &[Issue]) -> Vec<Issue> {
    let mut tables = tables.to_normalized();
    tables.0.retain(|table, _| profile.unread_tables().all(|unread| unread != table));
    let context = LintContext::new(&tables, profile, issues);
    let mut findings = Vec::new();
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
        consent::check,
        binding::check,
        verbose::check,
    ] {
        check(&context, &mut findings);
    }
    findings
}

#[cfg(test)]
mod tests;
