//! Runs a task on its own: a function that a flow document calls. (docs/spec/flows.md#4.13)

use std::sync::Arc;

use convengine_config::Config;
use convengine_tables::extension;
use convengine_tables::session::Session;
use convengine_tables::step_context::StepContext;
use convengine_turn::{
    CancelReason, EffectContext, EffectError, EffectErrorKind, FaultReport, Outcome, Payload, PayloadKind, Program, SessionAfter, TurnInput,
};
use serde_json::Value;

/// Creates the program of a task. Its session is that of the input without history, because a task gets what it needs as arguments.
pub fn build_program(input: TurnInput, effects: EffectContext, config: Arc<Config>, name: String, arguments: Option<Value>) -> Program {
    Box::pin(async move {
        let conversation = input.conversation.clone();
        let mut cx = StepContext { config: &config, session: Session::from_input(input, 0), effects };
        let effects = cx.effects.clone();
        let called = effects.run_unless_canceled(extension::call_function(&mut cx, &name, arguments)).await;
        to_outcome(conversation, called)
    })
}

fn to_outcome(conversation_id: String, called: Result<Result<Value, EffectError>, CancelReason>) -> Outcome {
    let canceled = |reason: CancelReason| EffectError::new(EffectErrorKind::Cancelled, reason.name());
    let (payload, fault) = match called.map_err(canceled).and_then(|it| it) {
        Ok(result) => (Some(Payload { kind: PayloadKind::Json, value: result.to_string() }), None),
        Err(error) => {
            let code = serde_json::to_value(error.kind).ok().and_then(|kind| kind.as_str().map(str::to_owned)).unwrap_or_default();
            (None, Some(FaultReport { code, message: error.message, recoverable: false }))
        }
    };
    Outcome {
        conversation_id,
        intent: String::new(),
        state: String::new(),
        payload,
        context: None,
        fault,
        writes: Vec::new(),
        session: SessionAfter { intent: String::new(), state: String::new(), context: Arc::default(), params: Arc::default() },
        flow: None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::turn::{Completion, EffectResult, HttpReply, Map, Reply, Request, TaskRequest, TaskUse, Turn};

    /// Runs a function; a service answers its call.
    fn run(binding: &Value, name: &str, status: u16) -> Result<Value, EffectError> {
        let tables = json!({"ce_task": [{"task_id": 1, "kind": "TASK", "task": "orders:refund", "binding": binding.to_string()}]});
        let (config, issues) = Config::compile(&serde_json::from_value(tables).unwrap(), &json!({}));
        assert!(issues.iter().all(|it| !it.is_error()), "{issues:?}");
        let request = TaskRequest {
            task: name.to_owned(),
            called_for: TaskUse::Tool,
            rule_id: None,
            container: None,
            input: Some(json!({"amount": 7})),
            view: Map::new(),
        };
        let (mut turn, mut slice) = Turn::start_task(Arc::new(config), &request, "t/3", 1000, 1).unwrap();
        while slice.end.is_none() {
            let effect = slice.effects.pop().unwrap();
            let Request::Http(call) = &effect.request else { panic!("{effect:?}") };
            assert!(call.body.as_deref().unwrap_or_default().contains("\"amount\":7"), "{call:?}");
            let reply = HttpReply { status, body: r#"{"refunded": 7}"#.to_owned(), retry_after_ms: None, broken_json: false };
            slice = turn.resume(vec![Completion { id: effect.id, at: 1001, outcome: EffectResult::Ok(Reply::Http(reply)) }]).unwrap();
        }
        slice.end.unwrap().task_result()
    }

    #[test]
    fn a_function_runs_as_its_task_is_bound() {
        let service = json!({"http": {"url": "https://orders.example/refund"}});
        assert_eq!(run(&service, "orders:refund", 200), Ok(json!({"refunded": 7})));
        let script = json!({"script": {"result": "=input.amount * 2"}});
        assert_eq!(run(&script, "orders:refund", 200).unwrap().as_f64(), Some(14.0));
    }

    #[test]
    fn failures_keep_their_kind() {
        let service = json!({"http": {"url": "https://orders.example/refund"}});
        assert_eq!(run(&service, "orders:refund", 404).unwrap_err().kind, EffectErrorKind::NotFound);
        let unknown = run(&service, "no_such_extension", 200).unwrap_err();
        assert_eq!(unknown.kind, EffectErrorKind::NotFound);
        assert!(unknown.message.contains("no_such_extension"), "{unknown:?}");
    }
}
