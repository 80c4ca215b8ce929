//! `knowledge` nodes: answer from the knowledge base (docs/spec/flows.md#4.12).

use convengine_config::flow::document::{KnowledgeData, Node};

use super::super::knowledge::Answer;
use super::super::transition::Transition;
use super::super::turn::Turn;
use super::RunNode;

impl RunNode for KnowledgeData {
    async fn run<'c>(&'c self, turn: &mut Turn<'c>, _: &'c Node) -> Transition {
        turn.run_knowledge(self).await
    }
}

impl<'c> Turn<'c> {
    async fn run_knowledge(&mut self, data: &'c KnowledgeData) -> Transition {
        match self.answer_query(data).await {
            Ok(Answer::Found(found)) => {
                if let Err(rejected) = self.write_variable(&data.variable, found.to_value()) {
                    return Transition::Fail(rejected.into());
                }
                self.send_found(data, &found);
                Transition::out()
            }
            Ok(Answer::NoResult) => Transition::Port("no_result".to_owned()),
            Err(failure) => Transition::Fail(failure),
        }
    }
}
