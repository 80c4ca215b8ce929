//! Secrets by reference: read from environment or file, handed out by name, struck out of everything that comes back.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;

use aho_corasick::{AhoCorasick, MatchKind};
use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::Value;

/// Secrets by name. Neither printing nor logging shows their values.
#[derive(Default)]
pub struct Secrets {
    values: BTreeMap<String, String>,
    /// Finds each spelling of each value; absent while there is none.
    finder: Option<(AhoCorasick, Vec<String>)>,
    spellings: Vec<String>,
}

impl fmt::Debug for Secrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.values.keys()).finish()
    }
}

impl Secrets {
    /// Reads `convengine.secrets.NAME`, each `env:VARIABLE` or `file:PATH`.
    ///
    /// A value is never part of the settings: who reads them, or a database made from them, learns where it is and not what it is.
    pub fn read(tree: &Value, problems: &mut Vec<String>) -> Secrets {
        let mut secrets = Secrets::default();
        for (name, reference) in tree.get("secrets").and_then(Value::as_object).into_iter().flatten() {
            match resolve(reference.as_str().unwrap_or_default()) {
                Ok(value) => secrets.know(name, &value),
                Err(reason) => problems.push(format!("convengine.secrets.{name}: {reason}")),
            }
        }
        secrets
    }

    /// Takes up a secret that came another way, such as the key of a model.
    pub fn know(&mut self, name: &str, value: &str) {
        self.values.insert(name.to_owned(), value.to_owned());
        let mut patterns = Vec::new();
        let mut marks = Vec::new();
        for (name, value) in &self.values {
            for spelling in spellings(value) {
                patterns.push(spelling);
                marks.push(format!("[secret {name}]"));
            }
        }
        let finder = AhoCorasick::builder().match_kind(MatchKind::LeftmostLongest).build(&patterns).ok();
        self.finder = finder.map(|it| (it, marks));
        self.spellings = patterns;
    }

    /// The value of a secret.
    pub fn value(&self, name: &str) -> Option<&str> {
        self.values.get(name).map(String::as_str)
    }

    /// A text with every secret in it replaced by its name.
    pub fn scrub<'t>(&self, text: &'t str) -> Cow<'t, str> {
        match &self.finder {
            Some((finder, marks)) if finder.is_match(text) => Cow::Owned(finder.replace_all(text, marks)),
            Some(_) | None => Cow::Borrowed(text),
        }
    }

    /// How much of a text that goes on can be scrubbed by itself: no secret reaches from there into what is still to come.
    pub fn settled(&self, text: &str) -> usize {
        let Some((finder, _)) = &self.finder else { return text.len() };
        let from = text.len().saturating_sub(self.longest());
        // Only what a secret may begin with is held back: readers are not to wait for a text that cannot be one.
        let begins =
            |at: &usize| text.get(*at..).is_some_and(|rest| self.spellings.iter().any(|it| it.len() > rest.len() && it.starts_with(rest)));
        let end = (from..text.len()).find(begins).unwrap_or(text.len());
        // A secret that has come in whole stays in one piece.
        finder.find_iter(text).find(|it| it.start() < end && it.end() > end).map_or(end, |it| it.start())
    }

    /// The longest spelling of a secret in bytes: what of a stream has to be held back until it is known how it goes on.
    pub fn longest(&self) -> usize {
        self.finder.as_ref().map_or(0, |it| it.0.max_pattern_len())
    }
}

fn resolve(reference: &str) -> Result<String, String> {
    let value = match reference.split_once(':') {
        Some(("env", variable)) => std::env::var(variable).map_err(|_| format!("the environment variable '{variable}' is not set")),
        Some(("file", path)) => std::fs::read_to_string(path).map_err(|it| format!("the file '{path}' cannot be read: {it}")),
        _ => Err("it is a reference, never the secret itself: write env:VARIABLE or file:PATH".to_owned()),
    }?;
    let value = value.trim();
    if value.is_empty() { Err("the secret is empty".to_owned()) } else { Ok(value.to_owned()) }
}

/// What an address has to escape in its parts. (RFC 3986)
const RESERVED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// The ways in which a back-end may give a value back.
fn spellings(value: &str) -> Vec<String> {
    let json = Value::from(value).to_string();
    let json = json.strip_prefix('"').and_then(|it| it.strip_suffix('"')).unwrap_or(value);
    let mut all = vec![
        value.to_owned(),
        json.to_owned(),
        // What some writers escape so that their JSON can stand in a page.
        json.replace('/', "\\/"),
        json.replace('&', "\\u0026").replace('<', "\\u003c").replace('>', "\\u003e"),
        utf8_percent_encode(value, NON_ALPHANUMERIC).to_string(),
        utf8_percent_encode(value, RESERVED).to_string(),
        STANDARD.encode(value),
        URL_SAFE_NO_PAD.encode(value),
    ];
    all.sort();
    all.dedup();
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_secret_is_struck_out_in_every_spelling() {
        let mut secrets = Secrets::default();
        secrets.know("crm", "a\"b/c+d");
        secrets.know("longer", "a\"b/c+d-and-more");
        let echoed = format!("{} {} {} {}", "a\"b/c+d", "a\\\"b/c+d", "a%22b%2Fc%2Bd", STANDARD.encode("a\"b/c+d"));
        assert_eq!(secrets.scrub(&echoed), "[secret crm] [secret crm] [secret crm] [secret crm]");
        assert_eq!(secrets.scrub("x a\"b/c+d-and-more"), "x [secret longer]");
        assert!(matches!(secrets.scrub("nothing"), Cow::Borrowed("nothing")));
        assert_eq!(format!("{secrets:?}"), r#"{"crm", "longer"}"#);
    }

    #[test]
    fn a_secret_is_struck_out_however_a_text_is_cut() {
        let mut secrets = Secrets::default();
        assert_eq!(secrets.settled("all of it"), 9);
        secrets.know("key", "sk-12345");
        assert_eq!(
            [secrets.settled("a task"), secrets.settled("a risk-2"), secrets.settled("sk-1"), secrets.settled("sk-12345")],
            [4, 8, 0, 8]
        );
        secrets.know("short", "ab12");
        secrets.know("long", "ab12\u{e9}34cd");
        let text = "xab12\u{e9}34cdab1ab12\u{e9}\u{e9}ab12\u{e9}34cab12y";
        let expected = secrets.scrub(text).into_owned();
        for size in 1..=text.chars().count() {
            let (mut shown, mut held) = (String::new(), String::new());
            let letters: Vec<char> = text.chars().collect();
            for piece in letters.chunks(size) {
                held.extend(piece);
                let rest = held.split_off(secrets.settled(&held));
                shown.push_str(&secrets.scrub(&held));
                held = rest;
            }
            shown.push_str(&secrets.scrub(&held));
            assert_eq!(shown, expected, "{size}");
        }
    }

    #[test]
    fn a_value_in_the_settings_is_refused_without_being_printed() {
        let mut problems = Vec::new();
        let tree = json!({"secrets": {"crm": "hunter2hunter2", "gone": "env:CONVENGINE_NO_SUCH_SECRET"}});
        assert_eq!(Secrets::read(&tree, &mut problems).value("crm"), None);
        assert_eq!(problems.len(), 2);
        assert!(problems.iter().all(|it| !it.contains("hunter2")), "{problems:?}");
    }

    #[test]
    fn a_secret_is_struck_out_as_other_writers_escape_it() {
        let mut secrets = Secrets::default();
        secrets.know("crm", "sk-1/2&<3>_4\"");
        for echoed in ["sk-1%2F2%26%3C3%3E_4%22", r#"sk-1\/2&<3>_4\""#, r#"sk-1/2\u0026\u003c3\u003e_4\""#] {
            assert_eq!(secrets.scrub(echoed), "[secret crm]");
        }
    }
}
