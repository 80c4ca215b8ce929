//! `service` nodes: call a service and write outputs of its response (docs/spec/flows.md#4.6).

use convengine_config::flow::document::{Node, ServiceData};
use convengine_text::variable_path::VariablePath;
use convengine_turn::EffectClass;
use serde_json::{Value, json};

use super::super::failure::Failure;
use super::super::trace::with_member;
use super::super::transition::Transition;
use super::super::turn::Turn;
use super::RunNode;
use super::http_request::prepare_node_call;
use super::http_retry::{call_with_retry, parse_body, status_failure_code};

/// Maximum bytes of a response stored in the session.
const MAX_STORED_BYTES: usize = 64 * 1024;

impl RunNode for ServiceData {
    async fn run<'c>(&'c self, turn: &mut Turn<'c>, node: &'c Node) -> Transition {
        turn.run_service(node, self).await
    }
}

impl<'c> Turn<'c> {
    async fn run_service(&mut self, node: &'c Node, data: &'c ServiceData) -> Transition {
        let result = self.call_service(node, data).await;
        if node.type_name == "tool" {
            let event = json!({"node": node.id, "tool": data.tool_id, "ok": result.is_ok()});
            let code = result.as_ref().err().map(|it| it.code.as_str());
            self.trace("workflow.tool.executed", with_member(event, "code", code));
        }
        match result {
            Ok(()) => Transition::Port("success".to_owned()),
            Err(failure) => Transition::Fail(failure),
        }
    }

    async fn call_service(&mut self, node: &'c Node, data: &'c ServiceData) -> Result<(), Failure> {
        let call = prepare_node_call(self, node, data)?;
        if call.request.class() != EffectClass::Read {
            self.finalize_filled_slots();
        }
        let attempts = call_with_retry(&self.effects, &call, &self.trace_location(), self.record.effects_left()).await;
        self.record_attempts(call.request.kind(), &attempts);
        let attempt = attempts.last_attempt();
        let reply = attempts.reply().inspect_err(|_| self.store_response(&Value::Null, Value::Null))?;
        let body = parse_body(reply);
        self.store_response(&body.clone().unwrap_or_else(|_| json!(reply.body)), json!(reply.status));
        if !call.is_success(reply.status) {
            let failure = Failure::new(status_failure_code(reply.status), format!("the service answered {}", reply.status));
            return Err(Failure { attempt, ..failure });
        }
        let outputs = call.tool.into_iter().flat_map(|it| &it.outputs).chain(&data.outputs);
        body.and_then(|it| self.write_outputs(outputs, &it, &call.extra_roots)).map_err(|it| Failure { attempt, ..it })
    }

    /// Stores the response in the session, for templates and observers.
    fn store_response(&mut self, body: &Value, status: Value) {
        let text = body.to_string();
        let stored = match text.len() > MAX_STORED_BYTES {
            true => {
                let end = (0..=MAX_STORED_BYTES).rev().find(|it| text.is_char_boundary(*it)).unwrap_or(0);
                json!(text.get(..end).unwrap_or_default())
            }
            false => body.clone(),
        };
        for (name, value) in [("response_body", stored), ("response_status", status)] {
            self.state.vars.insert(name.to_owned(), value);
            self.record.mark_changed(&VariablePath::from_name(name));
        }
    }
}
