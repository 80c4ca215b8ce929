//! Branches: which exist, are entered, and enter each other. (X005, X008, X012)

use std::collections::{BTreeMap, BTreeSet};

use convengine_config::flow::DocumentIssue;
use convengine_config::flow::document::chain::{StepDef, StepKind, StepOnError};

use super::ChainContext;

/// The maximum number of branches that are nested.
const MAX_DEPTH: usize = 4;

/// The branches of a chain as a graph.
struct BranchGraph {
    /// The branches that the steps of each branch enter.
    next: Vec<Vec<usize>>,
    /// The depth of each branch below itself; `None` while it is being computed.
    depths: BTreeMap<usize, Option<usize>>,
    /// The branches that enter themselves again, directly or not.
    circles: Vec<usize>,
}

pub(super) fn check(context: &ChainContext<'_>, findings: &mut Vec<DocumentIssue>) {
    let branches = &context.document.branches;
    let find = |id: &str| branches.iter().position(|branch| branch.id == id);
    let mut next = vec![Vec::new(); branches.len()];
    let mut roots = Vec::new();
    for step_cx in &context.steps {
        let step = step_cx.step;
        for (member, id) in entered_branches(step) {
            let is_error = member == "/error_branch";
            match find(id) {
                Some(branch) => step_cx.branch.and_then(|it| next.get_mut(it)).unwrap_or(&mut roots).push(branch),
                None => {
                    let code = if is_error { "X012" } else { "X005" };
                    let message = format!("unknown branch '{id}'");
                    findings.push(step_cx.location.join(&member).error(code, message).with_fix("add it to 'branches', or correct the id"));
                }
            }
        }
        if step.on_error() == StepOnError::Branch && step.error_branch.is_none() {
            let message = "no branch is named for failures";
            findings.push(step_cx.location.clone().error("X012", message).with_fix("name one in 'error_branch'"));
        }
    }
    check_nesting(context, next, &roots, findings);
}

/// The branches that a step names, each with the member that names it.
fn entered_branches(step: &StepDef) -> Vec<(String, &str)> {
    let mut found = Vec::new();
    if let StepKind::Decide(decide) = &step.kind {
        let cases = decide.cases.iter().enumerate().map(|(at, case)| (format!("/config/cases/{at}/branch"), case.branch.as_str()));
        found.extend(cases);
        found.extend(decide.default.as_deref().map(|it| ("/config/default".to_owned(), it)));
    }
    if step.on_error() == StepOnError::Branch {
        found.extend(step.error_branch.as_deref().map(|it| ("/error_branch".to_owned(), it)));
    }
    found
}

fn check_nesting(context: &ChainContext<'_>, next: Vec<Vec<usize>>, roots: &[usize], findings: &mut Vec<DocumentIssue>) {
    let reached = super::super::context::find_reachable(&next, roots.iter().copied());
    for (number, _) in reached.iter().enumerate().filter(|it| !it.1) {
        let message = "no step that is executed enters the branch";
        findings.push(context.branch_location(number).warning("X005", message).with_fix("name it in a case, or remove it"));
    }
    let mut graph = BranchGraph { next, depths: BTreeMap::new(), circles: Vec::new() };
    for branch in 0..context.document.branches.len() {
        graph.depth(branch);
    }
    graph.circles.sort_unstable();
    graph.circles.dedup();
    for branch in &graph.circles {
        let message = "the branch enters itself again";
        findings.push(context.branch_location(*branch).error("X008", message).with_fix("remove the step that enters it again"));
    }
    if !graph.circles.is_empty() {
        return;
    }
    let entered: BTreeSet<usize> = roots.iter().copied().collect();
    for branch in entered {
        let depth = graph.depth(branch);
        if depth > MAX_DEPTH {
            let message = format!("branches are nested {depth} deep here; at most {MAX_DEPTH} are possible");
            findings.push(context.branch_location(branch).error("X008", message).with_fix("nest fewer branches"));
        }
    }
}

impl BranchGraph {
    /// The number of branches on the longest way from a branch, with it.
    fn depth(&mut self, branch: usize) -> usize {
        match self.depths.get(&branch) {
            Some(Some(depth)) => return *depth,
            Some(None) => {
                self.circles.push(branch);
                return 0;
            }
            None => {}
        }
        self.depths.insert(branch, None);
        let next = self.next.get(branch).cloned().unwrap_or_default();
        let depth = 1 + next.into_iter().map(|it| self.depth(it)).max().unwrap_or(0);
        self.depths.insert(branch, Some(depth));
        depth
    }
}
