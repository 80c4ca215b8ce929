//! Nodes of types that only drafts of workflow graphs may hold: they fail (docs/spec/flows.md#9).

use convengine_config::flow::document::{DraftData, Node};

use super::super::failure::Failure;
use super::super::transition::Transition;
use super::super::turn::Turn;
use super::RunNode;

impl RunNode for DraftData {
    async fn run<'c>(&'c self, _: &mut Turn<'c>, node: &'c Node) -> Transition {
        Transition::Fail(Failure::new("not_supported", format!("'{}' nodes do not run", node.type_name)))
    }
}
