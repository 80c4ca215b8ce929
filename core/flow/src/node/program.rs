//! Nodes of workflow graphs that run another document, which the walk does (docs/spec/flows.md#9).

use convengine_config::flow::document::{Node, ProgramData};

use super::super::transition::Transition;
use super::super::turn::Turn;
use super::RunNode;

impl RunNode for ProgramData {
    async fn run<'c>(&'c self, _: &mut Turn<'c>, _: &'c Node) -> Transition {
        Transition::RunProgram
    }
}
