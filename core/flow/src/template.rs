//! Renders templates and evaluates conditions in the scope of a session.

use convengine_config::flow::document::{FlowCondition, FlowTemplate, LocalizedText, Selection, ValueTemplate};
use convengine_text::interpolation::OutputContext;
use convengine_turn::{Map, Rng};
use serde_json::{Value, json};

use super::scope::Scope;
use super::turn::Turn;

impl Turn<'_> {
    /// The names that templates and conditions read, without extra roots.
    pub(super) fn scope(&self) -> Scope<'_> {
        self.scope_with(Map::new())
    }

    /// The names that templates and conditions read, with extra roots.
    pub(super) fn scope_with(&self, extra_roots: Map) -> Scope<'_> {
        Scope::new(self.view(), self.version, extra_roots)
    }

    /// Renders a text template; a template that does not compile is returned as written.
    pub(super) fn render_text(&mut self, template: &FlowTemplate) -> String {
        self.render_text_with(template, Map::new())
    }

    /// Renders a text template with extra roots.
    pub(super) fn render_text_with(&mut self, template: &FlowTemplate, extra: Map) -> String {
        let Ok(interpolation) = &template.compiled else { return template.source.clone() };
        if let Some(text) = interpolation.literal() {
            return text.to_owned();
        }
        let rendered = interpolation.render_text(&self.scope_with(extra));
        self.warn_undefined(&rendered.undefined);
        rendered.output
    }

    /// Renders a URL that is shown to users.
    pub(super) fn render_url(&mut self, template: &FlowTemplate, extra: Map) -> String {
        let Ok(interpolation) = &template.compiled else { return template.source.clone() };
        let rendered = interpolation.render_with_secrets(&self.scope_with(extra), OutputContext::Link);
        self.warn_undefined(&rendered.undefined);
        rendered.output.text
    }

    /// Renders a JSON template.
    pub(super) fn render_json(&mut self, template: &ValueTemplate, extra: Map) -> Value {
        let Ok(tree) = &template.compiled else { return template.source.clone() };
        let rendered = tree.render(&self.scope_with(extra));
        self.warn_undefined(&rendered.undefined);
        rendered.output
    }

    /// Warns about undefined names.
    pub(super) fn warn_undefined(&mut self, names: &[String]) {
        if !names.is_empty() {
            self.warn("template.undefined", json!({"names": names}));
        }
    }

    /// Returns whether a condition is true; a condition without a value is not.
    pub(super) fn is_condition_true(&mut self, condition: &FlowCondition, extra: Map) -> bool {
        self.evaluate_condition(condition, extra).unwrap_or(false)
    }

    /// Evaluates a condition. The error is why it has no value, which is also a warning.
    pub(super) fn evaluate_condition(&mut self, condition: &FlowCondition, extra: Map) -> Result<bool, String> {
        let result = match &condition.compiled {
            Ok(expr) => expr.is_true(&self.scope_with(extra) as &Scope<'_>).map_err(|it| it.0),
            Err(error) => Err(error.message.clone()),
        };
        result.inspect_err(|reason| self.warn("expr.error", json!({"expr": condition.source, "reason": reason})))
    }

    /// Renders the variant of a text for the channel and locale; `place` identifies it for sequences and seeded selection.
    pub(super) fn render_localized(&mut self, text: &LocalizedText, selection: Selection, place: &str) -> String {
        let variants = text.variants(&self.state.channel, &self.state.locale, &self.flow.document.default_locale);
        let Some(count) = u64::try_from(variants.len()).ok().filter(|it| *it > 0) else { return String::new() };
        let at = match selection {
            Selection::First => 0,
            Selection::Sequence => {
                let count_sent = self.state.counters.sequence.get(place).copied().unwrap_or(1);
                u64::from(count_sent.saturating_sub(1)) % count
            }
            Selection::SeededRandom => self.seeded_random(place) % count,
        };
        let Some(variant) = usize::try_from(at).ok().and_then(|it| variants.get(it)).cloned() else { return String::new() };
        self.render_text(&variant)
    }

    /// Renders the first variant of a localized text, with additional roots.
    pub(super) fn render_label(&mut self, text: &LocalizedText, extra: &Map) -> String {
        let variants = text.variants(&self.state.channel, &self.state.locale, &self.flow.document.default_locale);
        let Some(label) = variants.first().cloned() else { return String::new() };
        self.render_text_with(&label, extra.clone())
    }

    /// Returns a pseudo-random number that depends only on session, turn and place, so that a replay selects the same variant.
    pub(super) fn seeded_random(&self, place: &str) -> u64 {
        // FNV-1a: the distribution matters, not security.
        let mut seed: u64 = 0xcbf2_9ce4_8422_2325;
        let bytes = self.state.session_id.bytes().chain(self.event_number.to_le_bytes()).chain(place.bytes());
        for byte in bytes {
            seed = (seed ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
        Rng::new(seed).next_u64()
    }
}
