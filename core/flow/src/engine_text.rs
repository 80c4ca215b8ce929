//! Words what the engine itself says: as the document does, else in the language of the session (docs/spec/flows.md#3.1).

use convengine_text::locale::{EngineText, engine_texts, find_engine_texts, insert_values};

use super::Walker;

impl Walker<'_> {
    /// Words a text of the engine. Each value replaces its name in braces.
    pub(super) fn engine_text(&mut self, text: EngineText, values: &[(&str, &str)]) -> String {
        let flow = self.flow;
        let own = flow.document.engine_text(text).and_then(|own| {
            let of = |locale: &str| own.variants_of_locale(&self.state.channel, locale).first();
            // A language that the engine speaks is better than the default locale of the document.
            let is_spoken = find_engine_texts(&self.state.locale).is_some();
            of(&self.state.locale).or_else(|| if is_spoken { None } else { of(&flow.document.default_locale) })
        });
        let worded = own.map(|it| self.render_text(it)).filter(|it| !it.trim().is_empty());
        let built_in = || engine_texts([&self.state.locale, &flow.document.default_locale]).get(text).to_owned();
        insert_values(&worded.unwrap_or_else(built_in), values)
    }
}
