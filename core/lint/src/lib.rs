//! Lint for control tables and flow documents: finds rows that load but probably do not work as intended.
//!
//! A finding is an error only if the row certainly cannot work. Rows that compiling already rejected are skipped: their issues
//! belong to [`convengine_config`]. Checks group rows by scope before they compare them, so they stay fast on tens of thousands of rows.
//!
//! ```
//! use convengine_config::{Config, Tables};
//! use serde_json::json;
//!
//! let tables: Tables = serde_json::from_value(json!({
//!     "ce_policy": [{"policy_id": 4, "rule_type": "REGEX", "pattern": "(ssn)?", "response_text": "No."}],
//!     "ce_response": [{"response_id": 1, "intent_code": "ANY", "state_code": "ANY", "output_format": "TEXT", "response_type": "EXACT",
//!         "exact_text": "Hello."}],
//! }))?;
//! let (config, issues) = Config::compile(&tables, &json!({}));
//! assert!(issues.is_empty(), "the pattern compiles");
//! let findings = convengine_lint::check(&tables, config.settings.profile, &issues);
//! let found: Vec<_> = findings.iter().map(|finding| (finding.rule, finding.path.as_str(), finding.is_error())).collect();
//! assert_eq!(found, [("matches-everything", "ce_policy[4].pattern", false)]);
//! # Ok::<(), serde_json::Error>(())
//! ```
//!
//! Documents have checks of their own, in [`flow`]. Nothing here needs a database or a network; what only a host knows (its secrets, its
//! models) is passed in.

mod binding;
mod condition;
mod consent;
mod context;
pub mod flow;
mod known_paths;
mod misspelling;
mod model;
mod paths;
mod pattern;
mod pending_action;
mod response;
mod rule;
mod schema;
mod state;
mod template;
mod tool;
mod variable;
mod verbose;
mod written;

use convengine_config::{Issue, Profile, Tables};
use serde_json::Value;

use context::LintContext;

/// Lints control tables for a profile. `issues` are the issues of compiling these tables: rows that they name are not checked again, so
/// their issues are not among the findings.
///
/// The findings are grouped by check; docs/reference/lint-codes.md describes the rules that they name.
pub fn check(tables: &Tables, profile: &'static Profile, issues: &[Issue]) -> Vec<Issue> {
    check_with_replies(tables, profile, issues, &[])
}

/// Lints control tables beside replies of tasks, such as those that a pack scripts: what their `set_params` and `set_context` set is known,
/// so that a misspelled name is found also where only a task sets it. The other arguments are those of [`check`].
///
/// ```
/// use convengine_config::{Config, Tables};
/// use serde_json::json;
///
/// let tables: Tables = serde_json::from_value(json!({
///     "ce_pending_action": [{"pending_action_id": 1, "intent_code": "ANY", "state_code": "ANY", "action_key": "A", "bean_name": "orders",
///         "method_names": "cancel"}],
///     "ce_response": [{"response_id": 1, "intent_code": "ANY", "state_code": "ANY", "output_format": "TEXT", "response_type": "EXACT",
///         "exact_text": "{{inputParams.pending_action_result}}: your number is {{context.orderNr}}."}],
/// }))?;
/// let (config, issues) = Config::compile(&tables, &json!({}));
/// let replies = [json!({"set_context": {"orderNo": "C-4711"}})];
/// let findings = convengine_lint::check_with_replies(&tables, config.settings.profile, &issues, &replies);
/// assert_eq!((findings[0].rule, findings[0].path.as_str()), ("misspelled-name", "ce_response[1].exact_text"));
/// assert!(findings[0].hint.starts_with("write context.orderNo"));
/// # Ok::<(), serde_json::Error>(())
/// ```
pub fn check_with_replies(tables: &Tables, profile: &'static Profile, issues: &[Issue], replies: &[Value]) -> Vec<Issue> {
    let tables = read_tables(tables, profile);
    let context = LintContext::new(&tables, profile, issues, replies);
    let mut findings = Vec::new();
    for check in [
        pattern::check,
        condition::check,
        rule::check,
        state::check,
        response::check,
        template::check,
        variable::check,
        misspelling::check,
        schema::check,
        tool::check,
        pending_action::check,
        consent::check,
        binding::check,
        verbose::check,
    ] {
        check(&context, &mut findings);
    }
    findings
}

/// Lints control tables for a host whose settings say that there is no language model: rows that call one fail the turn. The arguments are
/// those of [`check`].
///
/// ```
/// use convengine_config::{Config, Tables};
/// use serde_json::json;
///
/// let tables: Tables = serde_json::from_value(json!({"ce_intent": [{"intent_code": "HOURS", "description": "opening hours"}]}))?;
/// let (config, issues) = Config::compile(&tables, &json!({}));
/// let findings = convengine_lint::check_without_model(&tables, config.settings.profile, &issues);
/// assert_eq!((findings[0].rule, findings[0].path.as_str()), ("model-is-off", "ce_intent"));
/// # Ok::<(), serde_json::Error>(())
/// ```
pub fn check_without_model(tables: &Tables, profile: &'static Profile, issues: &[Issue]) -> Vec<Issue> {
    let tables = read_tables(tables, profile);
    let mut findings = Vec::new();
    model::check(&LintContext::new(&tables, profile, issues, &[]), &mut findings);
    findings
}

/// The tables that a profile reads, in their normal form.
fn read_tables(tables: &Tables, profile: &Profile) -> Tables {
    let mut tables = tables.to_normalized();
    tables.0.retain(|table, _| profile.unread_tables().all(|unread| unread != table));
    tables
}

#[cfg(test)]
mod tests;
