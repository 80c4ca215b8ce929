//! Masks personal data in what AI agents say and in their traces (docs/spec/flows.md#10.6).

use serde_json::Value;

use crate::config::flow::document::{AgentPolicy, GuardrailKind, ReplyMask};
use crate::text::personal_data::{PersonalData, is_card_number, mask_personal_data};

/// What is written in place of a text that fits a pattern.
const REDACTED: &str = "[redacted]";

impl ReplyMask {
    /// Masks a text. Where a pattern takes too many steps, nothing of the text is left.
    pub(in crate::flow) fn mask(&self, text: &str) -> String {
        let masked = mask_personal_data(text, &self.kinds);
        self.patterns.iter().filter_map(|it| it.as_ref().ok()).fold(masked, |text, it| match it.replace(&text, REDACTED) {
            Ok(replaced) => replaced.unwrap_or(text),
            Err(_) => REDACTED.to_owned(),
        })
    }
}

/// Masks personal data, and what the guardrails of an agent mask, in the data of a trace event.
pub(in crate::flow) fn mask_trace(policy: &AgentPolicy, data: Value) -> Value {
    match data {
        Value::String(text) => {
            let masked = mask_personal_data(&text, &PersonalData::ALL);
            let masks =
                policy.guardrails.iter().filter_map(|it| if let GuardrailKind::Redact(mask) = &it.kind { Some(mask) } else { None });
            Value::String(masks.fold(masked, |text, it| it.mask(&text)))
        }
        Value::Number(number) if is_card_number(&number.to_string()) => Value::from(PersonalData::Card.label()),
        Value::Array(items) => items.into_iter().map(|it| mask_trace(policy, it)).collect(),
        Value::Object(members) => Value::Object(members.into_iter().map(|(name, it)| (name, mask_trace(policy, it))).collect()),
        Value::Null | Value::Bool(_) | Value::Number(_) => data,
    }
}
