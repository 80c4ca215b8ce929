//! Runs a task on its own: a function that a flow document calls. (docs/spec/flows.md#4.13)

use std::sync::Arc;

use serde::Deserialize;
use serde_json::Value;

use crate::config::Config;
use crate::extension;
use crate::session::Session;
use crate::step_context::StepContext;
use crate::turn::{
    CancelReason, EffectContext, EffectError, EffectErrorKind, FaultReport, LaunchMode, LoadedSession, Millis, Observation, Outcome,
    Payload, PayloadKind, Program, SessionAfter, Slice, TaskRequest, Turn, TurnError, TurnInput, UserEvent,
};

impl Turn {
    /// Starts a task as its binding says: a service, a script or an extension. The end of the turn has its result as payload, or the kind
    /// of its error as code of the fault; see [`Outcome::task_result`].
    ///
    /// # Errors
    /// [`TurnError::Stalled`] is a bug in the core.
    pub fn start_task(config: Arc<Config>, request: &TaskRequest, key: &str, at: Millis, seed: u64) -> Result<(Turn, Slice), TurnError> {
        let input = TurnInput {
            turn: key.to_owned(),
            conversation: request.view.get("conversation_id").and_then(Value::as_str).unwrap_or_default().to_owned(),
            at,
            seed,
            program: config.program(),
            event: UserEvent::default(),
            session: LoadedSession::default(),
        };
        let (name, arguments) = (request.task.clone(), request.input.clone());
        let mode = LaunchMode { defer_end: false, is_replay: false, observation: Observation::Nothing };
        Turn::launch(input, config.hash_source().to_owned(), mode, |input, effects| build_program(input, effects, config, name, arguments))
    }
}

fn build_program(input: TurnInput, effects: EffectContext, config: Arc<Config>, name: String, arguments: Option<Value>) -> Program {
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
            let code = serde_json::to_value(error.kind).ok().and_then(|it| it.as_str().map(str::to_owned)).unwrap_or_default();
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

impl Outcome {
    /// The result of a task that [`Turn::start_task`] ran.
    ///
    /// # Errors
    /// The error of the task.
    pub fn task_result(&self) -> Result<Value, EffectError> {
        match (&self.payload, &self.fault) {
            (Some(payload), _) => Ok(serde_json::from_str(&payload.value).unwrap_or_default()),
            (None, Some(fault)) => {
                let kind = EffectErrorKind::deserialize(&Value::from(fault.code.as_str())).unwrap_or(EffectErrorKind::Invalid);
                Err(EffectError::new(kind, fault.message.clone()))
            }
            (None, None) => Ok(Value::Null),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::turn::{Completion, EffectResult, HttpReply, Map, Reply, Request, TaskUse};

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
