//! Runs one call of an extension by polling its future after each message; there is no executor.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

use serde::de::DeserializeOwned;

use crate::ext::Ext;
use crate::message::{ABI, CallOutput, End, Resume, Start};
use crate::patch::{Fault, Patch};
use crate::view::View;

/// A running task.
pub type Run = Pin<Box<dyn Future<Output = Result<Patch, Fault>>>>;

/// The tasks of an extension and its current call. Hosts use it through the module's exports, tests directly.
pub struct Extension {
    tasks: &'static [&'static str],
    begin: fn(Ext, View) -> Option<Run>,
    running: Option<(Ext, Run)>,
}

impl Extension {
    /// Creates an extension from its tasks by name; `export!` calls this.
    pub fn new(tasks: &'static [&'static str], begin: fn(Ext, View) -> Option<Run>) -> Extension {
        Extension { tasks, begin, running: None }
    }

    /// Starts a call with the host's first message; returns the extension's answer.
    pub fn start(&mut self, message: &[u8]) -> Vec<u8> {
        self.running = None;
        encode(match parse::<Start>(message) {
            Ok(start) if start.abi != ABI => {
                end_with_fault(Fault::new("PROTOCOL", format!("the extension speaks abi {ABI}, not {}", start.abi)))
            }
            Ok(start) => self.begin(start),
            Err(fault) => end_with_fault(fault),
        })
    }

    /// Continues the call with the answers to effects; returns the extension's answer.
    pub fn resume(&mut self, message: &[u8]) -> Vec<u8> {
        encode(match parse::<Resume>(message) {
            Ok(resume) => self.continue_with(resume),
            Err(fault) => end_with_fault(fault),
        })
    }

    fn begin(&mut self, start: Start) -> CallOutput {
        let x = Ext::new(start.call, start.input, start.at, start.seed);
        let Some(run) = (self.begin)(x.clone(), start.view) else {
            let message = format!("the extension has no task '{}': it has {}", x.task(), self.tasks.join(", "));
            return end_with_fault(Fault::new("UNKNOWN_TASK", message));
        };
        self.running = Some((x, run));
        self.poll()
    }

    /// Polls the task after each answer of a batch, so that a re-run behaves identically.
    fn continue_with(&mut self, resume: Resume) -> CallOutput {
        let mut all = CallOutput::default();
        for completion in resume.completions {
            let Some((x, _)) = &self.running else { break };
            x.deliver(completion);
            let mut next = self.poll();
            all.effects.append(&mut next.effects);
            all.notices.append(&mut next.notices);
            all.end = next.end;
        }
        all
    }

    fn poll(&mut self) -> CallOutput {
        let Some((x, run)) = &mut self.running else { return CallOutput::default() };
        let polled = run.as_mut().poll(&mut Context::from_waker(Waker::noop()));
        let mut output = x.take_output();
        output.end = match polled {
            Poll::Ready(Ok(patch)) => Some(End::Patch(Box::new(patch))),
            Poll::Ready(Err(fault)) => Some(End::Fault(fault)),
            Poll::Pending if x.has_pending() => None,
            Poll::Pending => Some(End::Fault(Fault::new("STALLED", "the extension waits for something that is not an effect"))),
        };
        if output.end.is_some() {
            self.running = None;
        }
        output
    }
}

fn parse<T: DeserializeOwned>(message: &[u8]) -> Result<T, Fault> {
    serde_json::from_slice(message).map_err(|error| Fault::new("PROTOCOL", format!("the extension does not understand the host: {error}")))
}

fn end_with_fault(fault: Fault) -> CallOutput {
    CallOutput { end: Some(End::Fault(fault)), ..CallOutput::default() }
}

fn encode(output: CallOutput) -> Vec<u8> {
    serde_json::to_vec(&output).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::{HttpCall, HttpReply};

    async fn both(x: Ext, view: View) -> Result<Patch, Fault> {
        let amount = view.param("amount").and_then(Value::as_i64).ok_or(Fault::new("NO_AMOUNT", "the amount is missing"))?;
        x.say("Asking twice");
        let one = x.request(HttpCall::get("https://a.example/1").secret("key"));
        let two = x.request(HttpCall::post("https://a.example/2", &json!({"amount": amount})));
        let (one, two) = (x.wait(one).await?, x.wait(two).await);
        let two = two.map_or_else(|it| it.kind, |it: HttpReply| it.body);
        Ok(Patch::default().param("one", one.json::<i64>()? + amount).param("two", two).context("old", Value::Null).value(x.now()))
    }

    async fn twice(x: Ext, _: View) -> Result<Patch, Fault> {
        let (first, second) = (x.random(), x.random());
        Ok(Patch { intent: x.call().hook, ..Patch::default().value(json!([x.input(), first == second])) })
    }

    async fn report(x: Ext, _: View) -> Result<Patch, Fault> {
        x.verbose_error("NO_RATE", crate::json::Map::new());
        x.say_error("No rate for container {{state}}");
        Ok(Patch::default().value(x.call().container.map(|it| it.container_id)))
    }

    async fn never(_: Ext, _: View) -> Result<Patch, Fault> {
        std::future::pending().await
    }

    crate::export! { "t:both" => both, "t:twice" => twice, "t:report" => report, "t:never" => never }

    fn start(extension: &mut Extension, message: &Value) -> Value {
        serde_json::from_slice(&extension.start(message.to_string().as_bytes())).unwrap()
    }

    fn resume(extension: &mut Extension, completions: &Value) -> Value {
        let message = json!({"completions": completions}).to_string();
        serde_json::from_slice(&extension.resume(message.as_bytes())).unwrap()
    }

    fn start_message(task: &str) -> Value {
        json!({"abi": 1, "call": {"task": task}, "view": {"inputParams": {"amount": 5}}, "input": null, "at": 1000, "seed": 7})
    }

    #[test]
    fn two_effects_run_at_the_same_time_and_may_be_answered_in_any_order() {
        let mut extension = conv_extension();
        let output = start(&mut extension, &start_message("t:both"));
        let first = json!({"kind": "http", "method": "GET", "url": "https://a.example/1", "headers": [], "secret": "key"});
        let second = json!({"kind": "http", "method": "POST", "url": "https://a.example/2",
            "headers": [["Content-Type", "application/json"]], "body": "{\"amount\":5}"});
        assert_eq!(output["effects"], json!([{"id": 0, "request": first}, {"id": 1, "request": second}]));
        assert_eq!(output["notices"], json!([{"text": {"text": "Asking twice", "metadata": {}, "error": false}}]));
        assert!(output.get("end").is_none());
        let late = json!([{"id": 1, "at": 1300, "outcome": {"error": {"kind": "timeout", "message": "late"}}}]);
        assert_eq!(resume(&mut extension, &late), json!({"effects": [], "notices": []}));
        let reply = json!({"kind": "http", "status": 200, "body": "37"});
        let end = resume(&mut extension, &json!([{"id": 0, "at": 1200, "outcome": {"ok": reply}}]));
        assert_eq!(end["end"], json!({"patch": {"params": {"one": 42, "two": "timeout"}, "context": {"old": null}, "value": 1300}}));
    }

    #[test]
    fn a_failure_that_is_passed_on_is_a_fault() {
        let mut extension = conv_extension();
        start(&mut extension, &start_message("t:both"));
        let denied = json!({"error": {"kind": "denied", "message": "no"}});
        let end = resume(&mut extension, &json!([{"id": 0, "at": 0, "outcome": denied}, {"id": 1, "at": 0, "outcome": denied}]));
        assert_eq!(end["end"], json!({"fault": {"code": "DENIED", "message": "no"}}));
        assert_eq!(resume(&mut extension, &json!([])), json!({"effects": [], "notices": []}), "a late answer");
    }

    #[test]
    fn a_call_has_its_input_and_its_own_random_numbers() {
        let mut message = start_message("t:twice");
        message["call"]["hook"] = json!("beforeStep");
        message["input"] = json!({"value": "a"});
        let patch = &start(&mut conv_extension(), &message)["end"]["patch"];
        assert_eq!(*patch, json!({"intent": "beforeStep", "value": [{"value": "a"}, false]}));
    }

    #[test]
    fn a_call_knows_its_container_and_may_report_errors() {
        let mut message = start_message("t:report");
        message["call"]["container"] = json!({"page_id": 1, "section_id": 2, "container_id": 3, "input_param_name": "rate"});
        let output = start(&mut conv_extension(), &message);
        let verbose = json!({"verbose": {"determinant": "NO_RATE", "metadata": {}, "error": true}});
        let text = json!({"text": {"text": "No rate for container {{state}}", "metadata": {}, "error": true}});
        assert_eq!((&output["notices"], &output["end"]["patch"]["value"]), (&json!([verbose, text]), &json!(3)));
    }

    #[test]
    fn what_cannot_be_carried_out_is_a_fault_with_its_reason() {
        let code = |message: &Value| start(&mut conv_extension(), message)["end"]["fault"]["code"].clone();
        let mut other = start_message("t:both");
        other["abi"] = json!(2);
        for (message, expected) in
            [(start_message("t:none"), "UNKNOWN_TASK"), (start_message("t:never"), "STALLED"), (other, "PROTOCOL"), (json!([]), "PROTOCOL")]
        {
            assert_eq!(code(&message), expected, "{message}");
        }
    }
}
