//! Masks personal data in what AI agents say and in their traces (docs/spec/flows.md#10.6).

use convengine_config::flow::document::{AgentPolicy, GuardrailKind};
use convengine_text::personal_data::{PersonalData, is_card_number, mask_personal_data};
use serde_json::Value;

/// Masks personal data, and what the guardrails of an agent mask, in the data of a trace event.
pub(crate) fn mask_trace(policy: &AgentPolicy, data: Value) -> Value {
    match data {
        Value::String(text) => {
            let masked = mask_personal_data(&text, &PersonalData::ALL);
            let masks = policy
                .guardrails
                .iter()
                .filter_map(|guardrail| if let GuardrailKind::Redact(mask) = &guardrail.kind { Some(mask) } else { None });
            Value::String(masks.fold(masked, |text, mask| mask.mask(&text)))
        }
        Value::Number(number) if is_card_number(&number.to_string()) => Value::from(PersonalData::Card.label()),
        Value::Array(items) => items.into_iter().map(|it| mask_trace(policy, it)).collect(),
        Value::Object(members) => Value::Object(members.into_iter().map(|(name, value)| (name, mask_trace(policy, value))).collect()),
        Value::Null | Value::Bool(_) | Value::Number(_) => data,
    }
}
