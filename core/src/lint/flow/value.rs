//! Buttons of questions whose value is no answer. (N010)

use serde_json::Value;

use super::ground::Ground;
use crate::config::flow::DocumentIssue;
use crate::config::flow::document::NodeKind;
use crate::entity::Said;

/// The first of January 2026: whether a value is a date does not depend on the day.
const NOW: i64 = 1_767_225_600_000;

pub(super) fn check(ground: &Ground<'_>, found: &mut Vec<DocumentIssue>) {
    let said = Said { locale: &ground.flow.document.default_locale, now: NOW };
    for (chart, at, node) in ground.nodes() {
        let NodeKind::Entity(data) = &node.kind else { continue };
        let Some(entity) = ground.flow.entity(&data.entity) else { continue };
        for (number, button) in data.buttons.iter().enumerate() {
            let label = || button.label.compiled.as_ref().ok().and_then(|it| it.literal()).map(Value::from);
            // What a template makes of it is not known before.
            if button.value.as_ref().is_some_and(|it| it.source.to_string().contains("{{")) {
                continue;
            }
            // Without a value the label is the answer, as far as it is known here.
            let Some(value) = button.value.as_ref().map(|it| it.source.clone()).or_else(label) else { continue };
            if entity.accept(&value, said).is_none() {
                let member = if button.value.is_some() { "value" } else { "label" };
                let place = chart.place_of(at).at(&format!("/data/buttons/{number}/{member}"));
                let message = format!("{value} is no answer to '{}', which asks for '{}'", node.name, data.entity);
                found.push(place.error("N010", message).fix("give the button a value that the entity takes"));
            }
        }
    }
}
