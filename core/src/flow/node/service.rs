//! `service` nodes: call a service and write outputs of its response (docs/spec/flows.md#4.6).

use serde_json::{Value, json};

use super::super::Walk;
use super::super::fail::Failure;
use super::super::walk::Next;
use super::attempt::{parsed, status_code, tries};
use super::wire;
use crate::config::flow::document::{Node, ServiceData};
use crate::text::path::Path;

/// Maximum bytes of a response stored in the session.
const KEPT: usize = 64 * 1024;

impl<'c> Walk<'c> {
    pub(super) async fn service(&mut self, node: &'c Node, data: &'c ServiceData) -> Next {
        match self.call_service(node, data).await {
            Ok(()) => Next::Port("success".to_owned()),
            Err(failure) => Next::Fail(failure),
        }
    }

    async fn call_service(&mut self, node: &'c Node, data: &'c ServiceData) -> Result<(), Failure> {
        let call = wire::of_node(self, node, data)?;
        let attempts = tries(&self.door, &call, &self.here(), self.effects_left()).await;
        self.note_attempts("http.request", &attempts);
        let attempt = attempts.attempt();
        let reply = attempts.reply().inspect_err(|_| self.keep_response(&Value::Null, Value::Null))?;
        let body = parsed(reply);
        self.keep_response(&body.clone().unwrap_or_else(|_| json!(reply.body)), json!(reply.status));
        if !call.succeeds(reply.status) {
            let failure = Failure::new(status_code(reply.status), format!("the service answered {}", reply.status));
            return Err(Failure { attempt, ..failure });
        }
        let outputs = call.tool.into_iter().flat_map(|it| &it.outputs).chain(&data.outputs);
        body.and_then(|it| self.take_outputs(outputs, &it, &call.here)).map_err(|it| Failure { attempt, ..it })
    }

    /// Stores the response in the session, for templates and observers.
    fn keep_response(&mut self, body: &Value, status: Value) {
        let text = body.to_string();
        let stored = match text.len() > KEPT {
            true => {
                let end = (0..=KEPT).rev().find(|it| text.is_char_boundary(*it)).unwrap_or(0);
                json!(text.get(..end).unwrap_or_default())
            }
            false => body.clone(),
        };
        for (name, value) in [("response_body", stored), ("response_status", status)] {
            self.state.vars.insert(name.to_owned(), value);
            self.changed(&Path::name(name));
        }
    }
}
