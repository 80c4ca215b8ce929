//! Resolves input to buttons: by id, label, number, place or a word of the label.

use convengine_understanding::entity::Entity;
use convengine_values::{ChosenBy, read_choice};
use serde_json::Value;

use super::state::FlowEvent;
use super::view::SessionView;

impl SessionView<'_, '_> {
    /// Finds the option of a slot that the event selects. A number that is a value of the slot is none of an option.
    pub(super) fn find_slot_option(&self, options: &[Value], entity: &Entity) -> Option<Value> {
        let FlowEvent::Message { text, .. } = &self.event else { return self.find_selected_option(options) };
        let (index, by) = self.read_option(text, options)?;
        // "The second" may be a day, but not where one of several days is asked for.
        let can_be_value = entity.kind() == "@number" || text.contains(|character: char| character.is_numeric());
        let is_value = || can_be_value && entity.accept(&text.as_str().into(), self.extraction_context()).is_some();
        options.get(index).filter(|_| by != ChosenBy::Number || !is_value()).cloned()
    }

    /// Reads which option a text names, and how.
    fn read_option(&self, text: &str, options: &[Value]) -> Option<(usize, ChosenBy)> {
        let labels: Vec<Vec<&str>> =
            options.iter().map(|option| option.get("label").and_then(Value::as_str).into_iter().collect()).collect();
        read_choice(text, &labels, &self.state.locale)
    }

    /// Finds the option that the event selects: by id, or as people name one of several.
    pub(super) fn find_selected_option(&self, options: &[Value]) -> Option<Value> {
        if let FlowEvent::Message { text, .. } = &self.event {
            return options.get(self.read_option(text, options)?.0).cloned();
        }
        let FlowEvent::Button { button_id, value, label, .. } = &self.event else { return None };
        // Cards rendered from a list share button ids; value and label tell them apart.
        let with_id = || options.iter().filter(|option| option.get("id").and_then(Value::as_str) == Some(button_id));
        let with_value = || with_id().find(|option| value.is_some() && option.get("value") == value.as_ref());
        let with_label = || with_id().find(|option| label.is_some() && option.get("label").and_then(Value::as_str) == label.as_deref());
        with_value().or_else(with_label).or_else(|| with_id().next()).cloned()
    }
}
