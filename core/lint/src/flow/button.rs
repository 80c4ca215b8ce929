//! Buttons of entity nodes whose value the entity does not accept. (N010)

use convengine_config::flow::DocumentIssue;
use convengine_config::flow::document::NodeKind;
use convengine_text::time_zone::UTC;
use convengine_understanding::entity::ExtractionContext;
use serde_json::Value;

use super::context::FlowContext;

/// A fixed time, 2026-01-01: whether a value is a date must not depend on the current day.
const FIXED_NOW: i64 = 1_767_225_600_000;

pub(super) fn check(context: &FlowContext<'_>, findings: &mut Vec<DocumentIssue>) {
    let input = ExtractionContext { locale: &context.flow.document.default_locale, now: FIXED_NOW, time_zone: UTC, parses: None };
    for (graph_cx, at, node) in context.nodes() {
        let NodeKind::Entity(data) = &node.kind else { continue };
        let Some(entity) = context.flow.compile_entity(&data.entity) else { continue };
        for (number, button) in data.buttons.iter().enumerate() {
            let shown = button.label.variants("", input.locale, input.locale).first();
            let label = || shown?.compiled.as_ref().ok()?.literal().map(Value::from);
            // The value of a template is unknown until run time.
            if button.value.as_ref().is_some_and(|value| value.source.to_string().contains("{{")) {
                continue;
            }
            // Without a value, a literal label is the answer.
            let Some(value) = button.value.as_ref().map(|it| it.source.clone()).or_else(label) else { continue };
            if entity.accept(&value, input).is_none() {
                let member = if button.value.is_some() { "value" } else { "label" };
                let location = graph_cx.node_location(at).join(&format!("/data/buttons/{number}/{member}"));
                let message = format!("{value} is not a valid answer for '{}', which expects '{}'", node.name, data.entity);
                findings.push(location.error("N010", message).with_fix("use a value that the entity accepts"));
            }
        }
    }
}
