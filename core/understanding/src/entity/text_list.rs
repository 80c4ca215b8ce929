//! `@list`: texts separated by commas, semicolons or conjunctions.

use convengine_text::phrase::fold_text;
use serde_json::Value;

use super::locale::words_of_locale;

/// Splits a text into its items; `None` when all are empty.
pub(super) fn find(text: &str, locale: &str) -> Option<Value> {
    let and = words_of_locale(locale).and;
    let mut parts: Vec<String> = Vec::new();
    for part in text.split([',', ';', '\n', '，', '、', '；']) {
        let mut words: Vec<&str> = Vec::new();
        for word in part.split_whitespace().chain([and]) {
            let is_end = word == and || word == "&" || and.split(',').any(|conjunction| fold_text(word) == conjunction);
            if !is_end {
                words.push(word);
            } else if !words.is_empty() {
                parts.push(words.join(" "));
                words.clear();
            }
        }
    }
    (!parts.is_empty()).then(|| parts.into())
}

/// Normalizes a list of texts; `None` when an item is not a text or all are blank.
pub(super) fn accept(value: &Value) -> Option<Value> {
    let trimmed = |item: &Value| item.as_str().map(str::trim).map(Value::from);
    let parts: Vec<Value> = value.as_array()?.iter().map(trimmed).collect::<Option<_>>()?;
    let parts: Vec<Value> = parts.into_iter().filter(|it| it != "").collect();
    (!parts.is_empty()).then(|| parts.into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn texts_are_split() {
        for (text, locale, expected) in [
            ("apples, pears and plums", "en", json!(["apples", "pears", "plums"])),
            ("apples, pears, and  plums", "en-GB", json!(["apples", "pears", "plums"])),
            ("apples", "en", json!(["apples"])),
            ("red wine; ; brandy,", "en", json!(["red wine", "brandy"])),
            ("Sand AND Anderson & sons", "en", json!(["Sand", "Anderson", "sons"])),
            ("one\ntwo", "en", json!(["one", "two"])),
            ("Äpfel und Birnen", "de", json!(["Äpfel", "Birnen"])),
            ("pan y vino e higos", "es", json!(["pan", "vino", "higos"])),
            ("pain et vin", "fr", json!(["pain", "vin"])),
            ("pane e vino ed olio", "it", json!(["pane", "vino", "olio"])),
            ("pão e vinho", "pt", json!(["pão", "vinho"])),
            ("brood en wijn", "nl", json!(["brood", "wijn"])),
            ("茶、米", "zh", json!(["茶", "米"])),
        ] {
            assert_eq!(find(text, locale), Some(expected), "{text}");
        }
        for text in ["", " , ;", "and", ", and"] {
            assert_eq!(find(text, "en"), None, "{text}");
        }
    }

    #[test]
    fn lists_of_texts_are_accepted() {
        assert_eq!(accept(&json!([" a ", "", "b, c"])), Some(json!(["a", "b, c"])));
        for value in [json!([]), json!([" "]), json!([1]), json!({}), json!(null), json!(true)] {
            assert_eq!(accept(&value), None);
        }
    }
}
