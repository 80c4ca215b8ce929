//! Renders templates and evaluates conditions in the scope of a session.

use serde_json::{Value, json};

use super::Walk;
use super::scope::Scope;
use crate::config::flow::document::{Condition, Filling, LocalizedText, Selection, Template};
use crate::text::braces::Place;
use crate::turn::{Map, Rng};

impl Walk<'_> {
    /// Renders a text template; a template that does not compile is returned as written.
    pub(super) fn text(&mut self, template: &Template) -> String {
        self.text_with(template, Map::new())
    }

    /// Renders a text template with extra roots.
    pub(super) fn text_with(&mut self, template: &Template, extra: Map) -> String {
        let Ok(interpolation) = &template.compiled else { return template.source.clone() };
        if let Some(text) = interpolation.literal() {
            return text.to_owned();
        }
        let rendered = interpolation.text(&self.scope_with(extra));
        self.undefined(&rendered.undefined);
        rendered.said
    }

    /// Renders a URL that is shown to users.
    pub(super) fn address(&mut self, template: &Template, extra: Map) -> String {
        let Ok(interpolation) = &template.compiled else { return template.source.clone() };
        let rendered = interpolation.sealed(&self.scope_with(extra), Place::Link);
        self.undefined(&rendered.undefined);
        rendered.said.text
    }

    /// Renders a JSON template.
    pub(super) fn filled(&mut self, filling: &Filling, extra: Map) -> Value {
        let Ok(tree) = &filling.compiled else { return filling.source.clone() };
        let rendered = tree.value(&self.scope_with(extra));
        self.undefined(&rendered.undefined);
        rendered.said
    }

    /// Warns about undefined names.
    pub(super) fn undefined(&mut self, names: &[String]) {
        if !names.is_empty() {
            self.warn("template.undefined", json!({"names": names}));
        }
    }

    /// Returns whether a condition is true; a condition that fails is false.
    pub(super) fn holds(&mut self, condition: &Condition, extra: Map) -> bool {
        let result = match &condition.compiled {
            Ok(expr) => expr.holds(&self.scope_with(extra) as &Scope<'_, '_>).map_err(|it| it.0),
            Err(error) => Err(error.message.clone()),
        };
        result.unwrap_or_else(|reason| {
            self.warn("expr.error", json!({"expr": condition.source, "reason": reason}));
            false
        })
    }

    /// Renders the variant of a text for the channel and locale; `place` identifies it for sequences and seeded selection.
    pub(super) fn localized(&mut self, text: &LocalizedText, selection: Selection, place: &str) -> String {
        let variants = text.variants(&self.state.channel, &self.state.locale, &self.flow.document.default_locale);
        let Some(count) = u64::try_from(variants.len()).ok().filter(|it| *it > 0) else { return String::new() };
        let at = match selection {
            Selection::First => 0,
            Selection::Sequence => {
                let count_sent = self.state.counters.sequence.get(place).copied().unwrap_or(1);
                u64::from(count_sent.saturating_sub(1)) % count
            }
            Selection::SeededRandom => self.chance(place) % count,
        };
        let Some(variant) = usize::try_from(at).ok().and_then(|it| variants.get(it)).cloned() else { return String::new() };
        self.text(&variant)
    }

    /// Returns a pseudo-random number that depends only on session, turn and place, so that a replay selects the same variant.
    pub(super) fn chance(&self, place: &str) -> u64 {
        // FNV-1a: the distribution matters, not security.
        let mut seed: u64 = 0xcbf2_9ce4_8422_2325;
        let bytes = self.state.session_id.bytes().chain(self.number.to_le_bytes()).chain(place.bytes());
        for byte in bytes {
            seed = (seed ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
        Rng::new(seed).next_u64()
    }
}
