//! `knowledge` nodes: answer from the knowledge base (docs/spec/flows.md#4.12).

use convengine_config::flow::document::{KnowledgeData, Node};

use super::super::knowledge::KnowledgeResult;
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
            Ok(KnowledgeResult::Answer(answer)) => {
                if let Err(rejected) = self.write_variable(&data.variable, answer.to_value()) {
                    return Transition::Fail(rejected.into());
                }
                self.send_answer(data, &answer);
                Transition::out()
            }
            Ok(KnowledgeResult::NoResult) => Transition::Port("no_result".to_owned()),
            Err(failure) => Transition::Fail(failure),
        }
    }
}
