//! A compiled chain, with the documents that its steps run. (docs/spec/chains.md)

use serde_json::Value;

use super::bound::{BoundFlow, Bundle};
use super::compiled::UNREADABLE_CODES;
use super::document::ProgramKind;
use super::document::chain::{ChainDocument, ProgramStep};
use super::{Flow, check_chain_structure};

/// A compiled chain: steps that run in order without a user who waits.
#[derive(Debug, Clone)]
pub struct Chain {
    /// The document.
    pub document: ChainDocument,
    /// The assistants and AI agents that it talks to.
    bound: Vec<BoundFlow>,
}

/// Whether a document is a chain, alone or with what it is bound to.
pub fn is_chain(source: &Value) -> bool {
    let root = source.get("root").filter(|it| it.is_object()).unwrap_or(source);
    root.get("doc").and_then(Value::as_str) == Some("workflow_chain")
}

impl Chain {
    /// Compiles a chain, alone or with what it is bound to: `{"root", "bound": [{"version"?, "document"}], "tools"}`.
    ///
    /// # Errors
    /// The first issue that makes a document unreadable.
    pub fn compile(source: &Value) -> Result<Chain, String> {
        let bundle = Bundle::new(source);
        if let Some(issue) = check_chain_structure(bundle.root).into_iter().find(|it| UNREADABLE_CODES.contains(&it.code)) {
            return Err(issue.to_string());
        }
        let compile = |(version, document): (Option<String>, &Value)| {
            Ok::<_, String>(BoundFlow { version, flow: Flow::compile_document(document, bundle.tools)? })
        };
        let bound = bundle.bound.iter().cloned().map(compile).collect::<Result<_, _>>()?;
        Ok(Chain { document: ChainDocument::read(bundle.root), bound })
    }

    /// Returns the documents that it runs, directly or not.
    pub fn bound(&self) -> &[BoundFlow] {
        &self.bound
    }

    /// Returns the document that a step talks to: by id, else by a name that only one has.
    pub fn find_bound(&self, step: &ProgramStep) -> Option<&Flow> {
        let of_kind = || self.bound.iter().map(|bound| &bound.flow).filter(|flow| flow.kind == step.kind);
        let by_name = || {
            let mut found = of_kind().filter(|flow| is_same_name(&flow.document.name, &step.target));
            found.next().filter(|_| found.next().is_none())
        };
        of_kind().find(|flow| flow.document.id == step.target).or_else(by_name)
    }
}

/// Whether two names are the same but for case and surrounding space.
pub fn is_same_name(one: &str, other: &str) -> bool {
    one.trim().to_lowercase() == other.trim().to_lowercase()
}

/// Returns the documents that the steps of a chain name: the kind, and an id or name; each once, in the order of the steps. A host loads
/// them before it compiles the chain.
pub fn chain_references(source: &Value) -> Vec<(ProgramKind, String)> {
    use super::document::chain::StepKind;
    let mut found: Vec<(ProgramKind, String)> = Vec::new();
    for step in ChainDocument::read(source).all_steps() {
        let StepKind::Program(program) = &step.kind else { continue };
        let reference = (program.kind, program.target.clone());
        if !found.contains(&reference) {
            found.push(reference);
        }
    }
    found
}
