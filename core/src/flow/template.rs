//! Templates and conditions filled with what a session knows.

use serde_json::{Value, json};

use super::Walk;
use super::scope::Scope;
use crate::config::flow::document::{Condition, Filling, LocalizedText, Selection, Template};
use crate::text::braces::Place;
use crate::turn::{Map, Rng};

impl Walk<'_> {
    /// A text; one that does not parse is shown as it is written.
    pub(super) fn text(&mut self, template: &Template) -> String {
        self.text_with(template, Map::new())
    }

    /// A text where there are more roots.
    pub(super) fn text_with(&mut self, template: &Template, here: Map) -> String {
        let Ok(braces) = &template.compiled else { return template.source.clone() };
        if let Some(text) = braces.literal() {
            return text.to_owned();
        }
        let rendered = braces.text(&self.scope_with(here));
        self.undefined(&rendered.undefined);
        rendered.said
    }

    /// An address that is shown.
    pub(super) fn address(&mut self, template: &Template, here: Map) -> String {
        let Ok(braces) = &template.compiled else { return template.source.clone() };
        let rendered = braces.sealed(&self.scope_with(here), Place::Link);
        self.undefined(&rendered.undefined);
        rendered.said.text
    }

    /// A JSON value.
    pub(super) fn filled(&mut self, filling: &Filling, here: Map) -> Value {
        let Ok(tree) = &filling.compiled else { return filling.source.clone() };
        let rendered = tree.value(&self.scope_with(here));
        self.undefined(&rendered.undefined);
        rendered.said
    }

    /// Notes names that are not defined.
    pub(super) fn undefined(&mut self, names: &[String]) {
        if !names.is_empty() {
            self.warn("template.undefined", json!({"names": names}));
        }
    }

    /// Whether a condition holds; one that has no value does not.
    pub(super) fn holds(&mut self, condition: &Condition, here: Map) -> bool {
        let judged = match &condition.compiled {
            Ok(expr) => expr.holds(&self.scope_with(here) as &Scope<'_, '_>).map_err(|it| it.0),
            Err(wrong) => Err(wrong.message.clone()),
        };
        judged.unwrap_or_else(|reason| {
            self.warn("expr.error", json!({"expr": condition.source, "reason": reason}));
            false
        })
    }

    /// A text for this channel and locale, of its variants the one that is due at a place.
    pub(super) fn localized(&mut self, text: &LocalizedText, selection: Selection, place: &str) -> String {
        let variants = text.variants(&self.state.channel, &self.state.locale, &self.flow.document.default_locale);
        let Some(count) = u64::try_from(variants.len()).ok().filter(|it| *it > 0) else { return String::new() };
        let at = match selection {
            Selection::First => 0,
            Selection::Sequence => {
                let said = self.state.counters.sequence.get(place).copied().unwrap_or(1);
                u64::from(said.saturating_sub(1)) % count
            }
            Selection::SeededRandom => self.chance(place) % count,
        };
        let Some(variant) = usize::try_from(at).ok().and_then(|it| variants.get(it)).cloned() else { return String::new() };
        self.text(&variant)
    }

    /// A number that follows from session, turn and place alone, so that a replay takes the same variant.
    pub(super) fn chance(&self, place: &str) -> u64 {
        // FNV-1a: well spread is all it has to be.
        let mut seed: u64 = 0xcbf2_9ce4_8422_2325;
        let bytes = self.state.session_id.bytes().chain(self.number.to_le_bytes()).chain(place.bytes());
        for byte in bytes {
            seed = (seed ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
        Rng::new(seed).next_u64()
    }
}
