//! The languages whose words are stemmed.

use rust_stemmers::{Algorithm, Stemmer};

/// Makes a function for one language. The algorithm is a constant in it, so the compiler drops the crate's other languages from the
/// browser engine.
macro_rules! stemmer {
    ($algorithm:ident) => {
        |token| Stemmer::create(Algorithm::$algorithm).stem(token).into_owned()
    };
}

/// A language with a stemmer and stop words. Each stemmer costs about 2 KB of the browser engine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Language {
    Danish,
    Dutch,
    English,
    Finnish,
    French,
    German,
    Hungarian,
    Italian,
    Norwegian,
    Portuguese,
    Romanian,
    Russian,
    Spanish,
    Swedish,
    Turkish,
}

impl Language {
    /// Returns the language of a locale such as `de-AT`, or none when its words are not stemmed.
    pub(crate) fn from_locale(locale: &str) -> Option<Language> {
        let code = locale.split(['-', '_']).next().unwrap_or_default().to_ascii_lowercase();
        Some(match code.as_str() {
            "da" => Language::Danish,
            "nl" => Language::Dutch,
            "en" => Language::English,
            "fi" => Language::Finnish,
            "fr" => Language::French,
            "de" => Language::German,
            "hu" => Language::Hungarian,
            "it" => Language::Italian,
            "no" | "nb" | "nn" => Language::Norwegian,
            "pt" => Language::Portuguese,
            "ro" => Language::Romanian,
            "ru" => Language::Russian,
            "es" => Language::Spanish,
            "sv" => Language::Swedish,
            "tr" => Language::Turkish,
            _ => return None,
        })
    }

    /// Returns the stemmer of the language.
    pub(crate) fn stemmer(self) -> fn(&str) -> String {
        match self {
            Language::Danish => stemmer!(Danish),
            Language::Dutch => stemmer!(Dutch),
            Language::English => stemmer!(English),
            Language::Finnish => stemmer!(Finnish),
            Language::French => stemmer!(French),
            Language::German => stemmer!(German),
            Language::Hungarian => stemmer!(Hungarian),
            Language::Italian => stemmer!(Italian),
            Language::Norwegian => stemmer!(Norwegian),
            Language::Portuguese => stemmer!(Portuguese),
            Language::Romanian => stemmer!(Romanian),
            Language::Russian => stemmer!(Russian),
            Language::Spanish => stemmer!(Spanish),
            Language::Swedish => stemmer!(Swedish),
            Language::Turkish => stemmer!(Turkish),
        }
    }
}
