//! `start` and `end` nodes (docs/spec/flows.md#4.1).

use convengine_config::flow::document::{EndData, Node, ProgramKind, StartData};
use convengine_text::variable_path::VariablePath;
use convengine_turn::Map;
use serde_json::json;

use super::super::transition::{GraphReturn, Transition};
use super::super::turn::Turn;
use super::RunNode;
use convengine_text::json::into_members;

impl RunNode for StartData {
    async fn run<'c>(&'c self, turn: &mut Turn<'c>, _: &'c Node) -> Transition {
        turn.run_start(self)
    }
}

impl RunNode for EndData {
    async fn run<'c>(&'c self, turn: &mut Turn<'c>, node: &'c Node) -> Transition {
        turn.run_end(node, self)
    }
}

impl<'c> Turn<'c> {
    fn run_start(&mut self, data: &'c StartData) -> Transition {
        for (name, value) in &data.init {
            let Ok(path) = VariablePath::parse(name) else { continue };
            if self.state.variable(&path).is_none() {
                // A value of the wrong type is ignored; lint reports it.
                let _ = self.write_variable(&path, value.clone());
            }
        }
        Transition::out()
    }

    fn run_end(&mut self, node: &'c Node, data: &'c EndData) -> Transition {
        if let Some(text) = &data.final_message {
            let place = self.state.frame().map(|it| format!("{}/{}", it.graph, it.node)).unwrap_or_default();
            self.send_localized(text, &place);
        }
        if self.flow.kind == ProgramKind::Workflow {
            self.trace("workflow.end", json!({"node": node.id}));
        }
        let returned = data.outputs.as_ref().map(|template| into_members(self.render_json(template, Map::new()))).unwrap_or_default();
        self.record_port(&node.id, &data.exit);
        Transition::Return(GraphReturn {
            exit: data.exit.clone(),
            values: returned,
            end_session: data.end_session,
            caller_transition: None,
        })
    }
}
