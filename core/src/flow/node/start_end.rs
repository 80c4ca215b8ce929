//! `start` and `end` nodes (docs/spec/flows.md#4.1).

use super::super::Walk;
use super::super::frames::object;
use super::super::walk::{Ending, Next};
use crate::config::flow::document::{EndData, Node, StartData};
use crate::text::path::Path;
use crate::turn::Map;

impl<'c> Walk<'c> {
    pub(super) fn start(&mut self, data: &'c StartData) -> Next {
        for (name, value) in &data.init {
            let Ok(path) = Path::parse(name) else { continue };
            if self.variable(&path).is_none() {
                // A value of the wrong type is ignored; lint reports it.
                let _ = self.write(&path, value.clone());
            }
        }
        Next::Port("out".to_owned())
    }

    pub(super) fn end(&mut self, node: &'c Node, data: &'c EndData) -> Next {
        if let Some(text) = &data.final_message {
            let place = self.frame().map(|it| format!("{}/{}", it.graph, it.node)).unwrap_or_default();
            self.say(text, &place);
        }
        let returned = data.outputs.as_ref().map(|it| object(self.filled(it, Map::new()))).unwrap_or_default();
        self.note_port(&node.id, &data.exit);
        Next::Return(Ending { exit: data.exit.clone(), returned, end_session: data.end_session })
    }
}
