//! The choices that a conversation offers. A choice is a text of the document and not of its user, so it is not redacted: it would not be
//! found, or be another one.

use convengine_core::{chain, flow};
use serde_json::Value;

/// What events may take of a conversation as it is.
#[derive(Debug, Clone, Default)]
pub struct Choices<'s> {
    buttons: Vec<Button<'s>>,
    decisions: Vec<&'s str>,
}

#[derive(Debug, Clone)]
struct Button<'s> {
    id: &'s Value,
    value: Option<&'s Value>,
    label: Option<&'s Value>,
}

impl<'s> Choices<'s> {
    /// Returns what a stored session or run offers; nothing before it has started.
    pub fn offered_by(state: Option<&'s Value>) -> Choices<'s> {
        let Some(state) = state else { return Choices::default() };
        let button = |button: &'s Value| Some(Button { id: button.get("id")?, value: button.get("value"), label: button.get("label") });
        // A step of a chain may talk to an assistant.
        let sessions = [Some(state), state.get("child")].into_iter().flatten();
        let buttons = sessions.flat_map(flow::list_offered_options).filter_map(button).collect();
        Choices { buttons, decisions: chain::list_offered_decisions(state).collect() }
    }

    /// Returns what a stored event has taken. By it the same event is recognised, whatever is offered by then.
    pub fn made_by(event: &'s Value) -> Choices<'s> {
        let label = event.get("label").or_else(|| event.get("text"));
        let button = Button { id: event.get("button_id").unwrap_or(&Value::Null), value: event.get("value"), label };
        Choices { buttons: vec![button], decisions: event.get("decision").and_then(Value::as_str).into_iter().collect() }
    }

    /// Returns the members of an event that are what is offered: of a button each of its own, or its label as a message.
    pub(super) fn find_chosen(&self, event: &Value) -> Vec<&'static str> {
        let is_same = |name: &str, offered: Option<&Value>| offered.is_some() && event.get(name) == offered;
        let mut chosen = Vec::new();
        for Button { id, value, label } in &self.buttons {
            if is_same("button_id", Some(*id)) {
                chosen.push("button_id");
                chosen.extend(is_same("value", *value).then_some("value"));
                chosen.extend(is_same("label", *label).then_some("label"));
            }
            chosen.extend(is_same("text", *label).then_some("text"));
        }
        let decision = event.get("decision").and_then(Value::as_str);
        chosen.extend(decision.filter(|it| self.decisions.contains(it)).map(|_| "decision"));
        chosen
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn state() -> Value {
        let options = json!([
            {"id": "acc-1234", "label": "Account 1234", "value": {"number": 1234}}, {"id": "card", "label": "Card 1", "value": "1111"},
            {"id": "card", "label": "Card 2", "value": "2222"}, {"id": "plain", "label": "None"},
        ]);
        json!({"awaiting": {"options": options}, "wait": {"options": ["2024", "2025"]}})
    }

    #[test]
    fn what_is_offered_is_chosen_as_it_is() {
        let state = state();
        let offered = Choices::offered_by(Some(&state));
        for (event, expected) in [
            (json!({"button_id": "acc-1234", "value": {"number": 1234}, "label": "Account 1234"}), vec!["button_id", "value", "label"]),
            (json!({"button_id": "acc-1234", "value": {"number": 9}, "label": "4711"}), vec!["button_id"]),
            (json!({"button_id": "card", "value": "2222"}), vec!["button_id", "button_id", "value"]),
            // A value of another button, or of none, is free text.
            (json!({"button_id": "plain", "value": "1111"}), vec!["button_id"]),
            (json!({"button_id": "4711", "value": "1111", "label": "Card 1"}), vec![]),
            (json!({"text": "Account 1234"}), vec!["text"]),
            (json!({"text": "Account 12345"}), vec![]),
            (json!({"decision": "2025"}), vec!["decision"]),
            (json!({"decision": "2026"}), vec![]),
        ] {
            assert_eq!(offered.find_chosen(&event), expected, "{event}");
            assert!(Choices::offered_by(None).find_chosen(&event).is_empty(), "{event}");
        }
    }

    #[test]
    fn an_event_that_is_sent_again_has_made_its_choice() {
        let first = json!({"button_id": "acc-1234", "value": "1234"});
        assert_eq!(Choices::made_by(&first).find_chosen(&first), ["button_id", "value"]);
        assert_eq!(Choices::made_by(&first).find_chosen(&json!({"button_id": "acc-[digits]", "value": "1234"})), [""; 0]);
        let first = json!({"text": "Account 1234"});
        assert_eq!(Choices::made_by(&first).find_chosen(&first), ["text"]);
    }
}
