//! `decision`, `router` and `fallback` nodes: have no work of their own (docs/spec/flows.md#4.5, #4.10). Which edge is taken is in `routes`.

use convengine_config::flow::document::{DecisionData, FallbackData, Node, RouterData};

use super::super::transition::Transition;
use super::super::turn::Turn;
use super::RunNode;

impl RunNode for DecisionData {
    async fn run<'c>(&'c self, _: &mut Turn<'c>, _: &'c Node) -> Transition {
        Transition::out()
    }
}

impl RunNode for RouterData {
    async fn run<'c>(&'c self, _: &mut Turn<'c>, _: &'c Node) -> Transition {
        Transition::out()
    }
}

impl RunNode for FallbackData {
    async fn run<'c>(&'c self, _: &mut Turn<'c>, _: &'c Node) -> Transition {
        Transition::out()
    }
}
