//! Reads a document, and looks up what it holds.

use convengine_text::locale::EngineText;
use convengine_text::time_zone;
use convengine_text::variable_path::VariablePath;
use serde_json::Value;

use super::super::shape::{Absent, Described};
use super::{Document, FlowTool, IntentParameter, ListEntry, LocalizedText};

impl Document {
    /// Reads a document whose structure has been checked.
    pub fn read(source: &Value) -> Document {
        let mut document = <Document as Described>::read(source).unwrap_or_else(Document::absent);
        document.tools.iter_mut().for_each(FlowTool::normalize);
        document.settings.handoff_webhook_url = document.settings.handoff_webhook_url.filter(|url| !url.source.trim().is_empty());
        document
    }

    /// Returns its wording of a text of the engine.
    pub fn engine_text(&self, text: EngineText) -> Option<&LocalizedText> {
        self.engine_texts.iter().find(|wording| wording.0 == text.name()).map(|it| &it.1)
    }

    /// Returns the time zone of a session: the first of its own, that of its channel and that of the document which is known, else UTC.
    pub fn time_zone_for(&self, own: Option<&str>, channel: &str) -> &'static str {
        let names = [own, self.time_zones.get(channel).map(String::as_str), self.default_time_zone.as_deref()];
        names.into_iter().flatten().find_map(time_zone::canonical_name).unwrap_or(time_zone::UTC)
    }

    /// Looks up a string: by locale, its language, the default locale, its language, `default`, then without a locale.
    pub fn string(&self, key: &VariablePath, locale: &str) -> Option<&Value> {
        let language = |locale: &str| locale.split(['-', '_']).next().unwrap_or_default().to_owned();
        let own = &self.default_locale;
        let locales = [locale.to_owned(), language(locale), own.clone(), language(own), "default".to_owned()];
        let of_locale = |locale: &String| key.find(self.strings.get(locale)?.as_object()?);
        locales.iter().find_map(of_locale).or_else(|| key.find(&self.strings)).filter(|it| it.is_string())
    }
}

impl IntentParameter {
    /// Whether the user is asked for it; otherwise it takes what was said before it is reached.
    pub fn is_prompted(&self) -> bool {
        self.required || !self.prompt.is_blank()
    }
}

impl ListEntry {
    /// What users may write for the value besides the value itself: its synonyms, and its names in all languages.
    pub fn other_spellings(&self) -> Vec<String> {
        let literals = self.label.templates().filter_map(|template| template.compiled.as_ref().ok()?.literal());
        let mut spellings = self.synonyms.clone();
        for label in literals {
            if label != self.value && !spellings.iter().any(|it| it == label) {
                spellings.push(label.to_owned());
            }
        }
        spellings
    }
}
