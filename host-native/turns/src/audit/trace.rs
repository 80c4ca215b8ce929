//! Reconstructs the pipeline steps of a conversation from its audit rows. (docs/spec/data-and-api.md#7.6)

use serde::Serialize;
use serde_json::{Value, json};

use convengine_host_base::clock;
use convengine_storage::audit::AuditRow;

/// The audit of a conversation, as steps and as a flat list.
#[derive(Debug, Serialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Trace {
    /// The conversation.
    pub conversation_id: String,
    /// The steps of all turns in the order they were entered.
    pub steps: Vec<StepTrace>,
    /// All rows.
    pub stages: Vec<StageTrace>,
}

/// A step from entry to exit.
#[derive(Debug, Serialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct StepTrace {
    /// The step.
    pub step: Value,
    /// The same value; clients expect a class name here.
    pub step_class: Value,
    /// Always null; kept for clients that read the member.
    pub source_file: Option<String>,
    /// How it ended.
    pub status: Status,
    /// ISO 8601 with `Z`.
    pub started_at: String,
    /// ISO 8601 with `Z`; absent while the step is open.
    pub ended_at: Option<String>,
    /// The duration in milliseconds.
    pub duration_ms: Option<i64>,
    /// The error message of a failed step.
    pub error: Option<Value>,
    /// The rows within the step that do not belong to an inner step.
    pub stages: Vec<StageTrace>,
}

/// How a step ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, utoipa::ToSchema)]
#[serde(rename_all = "UPPERCASE")]
pub enum Status {
    /// It has not ended.
    Running,
    /// It completed.
    Ok,
    /// It failed.
    Error,
}

/// An audit row with its parsed payload.
#[derive(Debug, Clone, Serialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct StageTrace {
    /// The row id.
    pub audit_id: i64,
    /// The stage.
    pub stage: String,
    /// ISO 8601 with `Z`.
    pub created_at: String,
    /// The payload, always an object.
    pub payload: Value,
}

impl Trace {
    /// Builds a trace from the rows of a conversation, oldest first.
    pub fn from_rows(conversation: String, rows: Vec<AuditRow>) -> Trace {
        let mut trace = Trace { conversation_id: conversation, steps: Vec::new(), stages: Vec::with_capacity(rows.len()) };
        // Indices of the open steps, innermost last.
        let mut open = Vec::new();
        for row in rows {
            let stage = StageTrace {
                payload: parse_payload(&row.payload_json),
                audit_id: row.audit_id,
                stage: row.stage,
                created_at: row.created_at,
            };
            trace.add_stage(&stage, &mut open);
            trace.stages.push(stage);
        }
        trace
    }

    fn add_stage(&mut self, stage: &StageTrace, open: &mut Vec<usize>) {
        let status = match stage.stage.trim().to_ascii_uppercase().as_str() {
            "STEP_ENTER" => {
                open.push(self.steps.len());
                self.steps.push(StepTrace::from_enter(stage));
                return;
            }
            "STEP_EXIT" => Status::Ok,
            "STEP_ERROR" => Status::Error,
            _ => {
                let inner = open.last().and_then(|it| self.steps.get_mut(*it));
                if let Some(step) = inner {
                    step.stages.push(stage.clone());
                }
                return;
            }
        };
        let named = open.iter().rposition(|index| self.steps.get(*index).is_some_and(|it| it.is_named_in(stage)));
        let Some(place) = named.or(open.len().checked_sub(1)) else { return };
        if let Some(step) = self.steps.get_mut(open.remove(place)) {
            step.close(stage, status);
        }
    }
}

impl StepTrace {
    fn from_enter(stage: &StageTrace) -> StepTrace {
        let member = |name: &str| stage.payload.get(name).cloned().unwrap_or_default();
        StepTrace {
            step: member("step"),
            step_class: member("stepClass"),
            source_file: None,
            status: Status::Running,
            started_at: stage.created_at.clone(),
            ended_at: None,
            duration_ms: None,
            error: None,
            stages: Vec::new(),
        }
    }

    fn is_named_in(&self, stage: &StageTrace) -> bool {
        match (self.step.as_str(), stage.payload.get("step").and_then(Value::as_str)) {
            (Some(own), Some(name)) => own.eq_ignore_ascii_case(name),
            _ => false,
        }
    }

    fn close(&mut self, stage: &StageTrace, status: Status) {
        self.status = status;
        self.ended_at = Some(stage.created_at.clone());
        let times = clock::parse(&self.started_at).zip(clock::parse(&stage.created_at));
        let measured = stage.payload.get("durationMs").and_then(Value::as_i64);
        self.duration_ms = measured.or_else(|| times.map(|(from, to)| to - from));
        self.error = stage.payload.get("errorMessage").filter(|_| status == Status::Error).cloned();
    }
}

/// Parses a payload into an object, wrapping any other value.
fn parse_payload(text: &str) -> Value {
    if text.trim().is_empty() {
        return json!({});
    }
    match serde_json::from_str(text) {
        Ok(object @ Value::Object(_)) => object,
        Ok(Value::Null) => json!({}),
        Ok(Value::String(text)) => json!({"value": text}),
        Ok(other) => json!({"value": other.to_string()}),
        Err(_) => json!({"raw_payload": text}),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trace(rows: &[(&str, &str)]) -> Trace {
        let row = |(index, (stage, payload)): (usize, &(&str, &str))| AuditRow {
            audit_id: i64::try_from(index).unwrap_or(0),
            conversation_id: "c".to_owned(),
            stage: (*stage).to_owned(),
            payload_json: (*payload).to_owned(),
            created_at: format!("2026-01-02T03:04:0{index}Z"),
        };
        Trace::from_rows("c".to_owned(), rows.iter().enumerate().map(row).collect())
    }

    #[test]
    fn steps_are_paired_and_contain_their_stages() {
        let trace = trace(&[
            ("USER_INPUT", r#"{"text":"a"}"#),
            ("STEP_ENTER", r#"{"step":"Outer","stepClass":"Outer"}"#),
            ("RULE_MATCH (RulesStep)", "{}"),
            ("STEP_ENTER", r#"{"step":"Inner"}"#),
            ("LLM", "[1]"),
            ("STEP_ERROR", r#"{"step":"inner","errorMessage":"broke","durationMs":7}"#),
            ("LATE", ""),
            ("STEP_EXIT", r#"{"step":"OUTER"}"#),
            ("STEP_EXIT", r#"{"step":"Outer"}"#),
        ]);
        let [outer, inner] = trace.steps.as_slice() else { panic!("{:?}", trace.steps) };
        assert_eq!((&outer.step, outer.status, outer.duration_ms, &outer.error), (&json!("Outer"), Status::Ok, Some(6_000), &None));
        assert_eq!((inner.status, inner.duration_ms, &inner.error), (Status::Error, Some(7), &Some(json!("broke"))));
        let stages = |it: &StepTrace| it.stages.iter().map(|it| it.stage.clone()).collect::<Vec<_>>();
        assert_eq!((stages(outer), stages(inner)), (vec!["RULE_MATCH (RulesStep)".to_owned(), "LATE".to_owned()], vec!["LLM".to_owned()]));
        assert_eq!(trace.stages.len(), 9, "an end without an entry is in the flat list");
        assert_eq!(serde_json::to_value(outer).expect("JSON")["sourceFile"], Value::Null);
    }

    #[test]
    fn an_end_of_an_unknown_name_closes_the_innermost_step() {
        let trace = trace(&[("STEP_ENTER", r#"{"step":"A"}"#), ("STEP_EXIT", "{}"), ("STEP_ENTER", r#"{"step":"B"}"#)]);
        assert_eq!(trace.steps.iter().map(|it| it.status).collect::<Vec<_>>(), [Status::Ok, Status::Running]);
    }

    #[test]
    fn every_payload_is_an_object() {
        for (text, expected) in [
            (r#"{"a":1}"#, json!({"a": 1})),
            ("\"text\"", json!({"value": "text"})),
            ("[1, 2]", json!({"value": "[1,2]"})),
            ("12", json!({"value": "12"})),
            ("{broken", json!({"raw_payload": "{broken"})),
            ("null", json!({})),
            (" ", json!({})),
        ] {
            assert_eq!(parse_payload(text), expected, "{text}");
        }
    }
}
