//! Publish checks of chains. (X001, X013, and docs/spec/chains.md#1)

mod branch;
mod schedule;
mod step;
mod text;

use convengine_config::flow::document::chain::{ChainDocument, InitialStatus, StepDef, TriggerKind};
use convengine_config::flow::{DocumentIssue, UNREADABLE_CODES, check_chain_structure};
use serde_json::Value;

use super::PublishTarget;
use super::context::Location;

/// A chain with its steps.
struct ChainContext<'c> {
    source: &'c Value,
    document: &'c ChainDocument,
    target: &'c PublishTarget<'c>,
    /// All steps, those of branches after the primary ones.
    steps: Vec<StepContext<'c>>,
}

/// A step with its place.
struct StepContext<'c> {
    step: &'c StepDef,
    source: Option<&'c Value>,
    location: Location,
    /// The position of its branch; `None` for a primary step.
    branch: Option<usize>,
    /// Its position in its sequence.
    position: usize,
}

/// Returns all issues of a chain: first those of the whole, then by step and branch. For one that cannot be parsed, returns only the
/// structural issues. The target says which documents its steps can run.
///
/// ```
/// use convengine_lint::flow::{PublishTarget, check_chain};
/// use serde_json::json;
///
/// let chain = json!({"schema_version": "1.0", "doc": "workflow_chain", "slug": "notes", "name": "Notes", "trigger": {"kind": "manual"},
///     "steps": []});
/// let issues = check_chain(&chain, &PublishTarget::empty());
/// assert!(issues.iter().any(|issue| (issue.code, issue.path.as_str()) == ("X001", "/steps")), "{issues:?}");
/// ```
pub fn check_chain(source: &Value, target: &PublishTarget<'_>) -> Vec<DocumentIssue> {
    let mut findings = check_chain_structure(source);
    if findings.iter().any(|it| UNREADABLE_CODES.contains(&it.code)) {
        return findings;
    }
    let document = ChainDocument::read(source);
    let context = ChainContext::new(source, &document, target);
    for check in [check_whole, step::check, branch::check, schedule::check, text::check] {
        check(&context, &mut findings);
    }
    findings.sort_by_cached_key(|it| document_order(&it.path));
    findings
}

impl<'c> ChainContext<'c> {
    fn new(source: &'c Value, document: &'c ChainDocument, target: &'c PublishTarget<'c>) -> ChainContext<'c> {
        let mut context = ChainContext { source, document, target, steps: Vec::new() };
        context.add_steps(&document.steps, "/steps", None);
        for (number, branch) in document.branches.iter().enumerate() {
            context.add_steps(&branch.steps, &format!("/branches/{number}/steps"), Some(number));
        }
        context
    }

    fn add_steps(&mut self, steps: &'c [StepDef], path: &str, branch: Option<usize>) {
        let graph = branch.and_then(|number| self.document.branches.get(number)).map(|it| it.id.clone());
        for (position, step) in steps.iter().enumerate() {
            let path = format!("{path}/{position}");
            let name = Some(step.label.clone()).filter(|label| !label.trim().is_empty());
            let source = self.source.pointer(&path);
            let location = Location { path, graph: graph.clone(), node: Some(step.id.clone()), name };
            self.steps.push(StepContext { step, source, location, branch, position });
        }
    }

    /// The location of a member of the chain itself.
    fn location(&self, path: &str) -> Location {
        Location { path: path.to_owned(), name: Some(self.document.name.clone()), ..Location::default() }
    }

    /// The location of a branch.
    fn branch_location(&self, number: usize) -> Location {
        let branch = self.document.branches.get(number);
        let (graph, name) = (branch.map(|it| it.id.clone()), branch.map(|it| it.name.clone()));
        Location { path: format!("/branches/{number}"), graph, node: None, name }
    }

    /// The location of a path, with its step or branch.
    fn locate(&self, path: &str) -> Location {
        let is_within = |prefix: &str| path.strip_prefix(prefix).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
        let of_step = self.steps.iter().map(|it| &it.location).find(|it| is_within(&it.path)).cloned();
        let of_branch =
            || (0..self.document.branches.len()).map(|number| self.branch_location(number)).find(|location| is_within(&location.path));
        Location { path: path.to_owned(), ..of_step.or_else(of_branch).unwrap_or_else(|| self.location(path)) }
    }
}

/// Checks the chain without its steps.
fn check_whole(context: &ChainContext<'_>, findings: &mut Vec<DocumentIssue>) {
    let document = context.document;
    if document.steps.is_empty() {
        findings.push(context.location("/steps").error("X001", "the chain has no steps").with_fix("add one to 'steps'"));
    }
    // Publishing makes a chain live unless it is paused.
    let is_open = document.trigger.kind == TriggerKind::Webhook && document.status != InitialStatus::Paused;
    if is_open && document.ingress_secret().is_none() {
        let message = "webhooks start the chain, but no secret verifies them";
        findings.push(context.location("/trigger").error("X013", message).with_fix("name a secret of the workspace in 'secret'"));
    }
}

/// The order of a path: the whole, the primary steps, then each branch with its steps.
fn document_order(path: &str) -> (usize, usize) {
    let mut parts = path.split('/').skip(1);
    let number = |part: Option<&str>| part.and_then(|part| part.parse::<usize>().ok());
    match (parts.next(), number(parts.next())) {
        (Some("steps"), Some(step)) => (1, step),
        (Some("branches"), Some(branch)) => {
            let step = parts.next().filter(|it| *it == "steps").and_then(|_| number(parts.next()));
            (branch + 2, step.map_or(0, |it| it + 1))
        }
        _ => (0, 0),
    }
}
