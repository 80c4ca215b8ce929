//! Secrets by reference: read from environment or file, handed out by name, struck out of everything that comes back.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;

use aho_corasick::{AhoCorasick, MatchKind};
use base64::Engine;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD, URL_SAFE_NO_PAD};
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
        let named = tree.get("secrets").unwrap_or(&Value::Null);
        if !named.is_object() && !named.is_null() {
            // What was given is not shown: it may be a secret.
            problems.push("convengine.secrets: a secret needs a name: write convengine.secrets.NAME=env:VARIABLE or file:PATH".to_owned());
        }
        for (name, reference) in named.as_object().into_iter().flatten() {
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
        let Some((finder, marks)) = &self.finder else { return Cow::Borrowed(text) };
        let mut scrubbed = if finder.is_match(text) { Cow::Owned(finder.replace_all(text, marks)) } else { Cow::Borrowed(text) };
        // Writers of JSON escape what they like: what is read later must not be a secret either, nor JSON within JSON.
        if !scrubbed.contains('\\') {
            return scrubbed;
        }
        let mut view = View::of(&scrubbed);
        for _ in 0..NESTED {
            let Some(unescaped) = view.unescaped() else { break };
            view = unescaped;
            let found: Vec<_> = finder.find_iter(&view.text).map(|it| (view.origin(it.start()..it.end()), it.pattern())).collect();
            if !found.is_empty() {
                let mut text = scrubbed.into_owned();
                for (range, pattern) in found.into_iter().rev() {
                    text.replace_range(range, marks.get(pattern.as_usize()).map_or("", String::as_str));
                }
                scrubbed = Cow::Owned(text);
                view = View::of(&scrubbed);
            }
        }
        scrubbed
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

/// How often a text may be escaped anew, as JSON within JSON is.
const NESTED: usize = 4;

/// A text without its escapes, and where each of its bytes comes from.
struct View {
    text: String,
    origins: Vec<usize>,
}

impl View {
    fn of(text: &str) -> View {
        View { text: text.to_owned(), origins: (0..=text.len()).collect() }
    }

    /// The text with the escapes of JSON taken off once; absent when there are none.
    fn unescaped(&self) -> Option<View> {
        let mut rest = self.text.as_str();
        let mut view = View { text: String::with_capacity(rest.len()), origins: Vec::with_capacity(self.origins.len()) };
        if !rest.contains('\\') {
            return None;
        }
        while let Some(first) = rest.chars().next() {
            let (decoded, length) = escape(rest).unwrap_or((first, first.len_utf8()));
            let origin = self.origins.get(self.text.len() - rest.len()).copied().unwrap_or_default();
            view.origins.extend(std::iter::repeat_n(origin, decoded.len_utf8()));
            view.text.push(decoded);
            rest = rest.get(length..).unwrap_or_default();
        }
        view.origins.push(self.origins.last().copied().unwrap_or_default());
        Some(view)
    }

    /// Where bytes of this text stand in the one it was made of.
    fn origin(&self, range: Range<usize>) -> Range<usize> {
        let at = |it: usize| self.origins.get(it).copied().unwrap_or_default();
        at(range.start)..at(range.end)
    }
}

/// The character that an escape at the beginning of a text stands for, and the length of the escape.
fn escape(text: &str) -> Option<(char, usize)> {
    let escaped = text.strip_prefix('\\')?;
    let plain = match escaped.chars().next()? {
        'u' => {
            let code = u32::from_str_radix(escaped.get(1..5)?, 16).ok()?;
            return char::from_u32(code).map(|it| (it, 6));
        }
        'n' => '\n',
        'r' => '\r',
        't' => '\t',
        it @ ('"' | '\\' | '/' | '\'') => it,
        _ => return None,
    };
    Some((plain, 2))
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

/// The percent signs of an address with small letters after them.
fn lower_hex(encoded: &str) -> String {
    let mut parts = encoded.split('%');
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |mut text, part| {
        let (hex, rest) = part.split_at_checked(2).unwrap_or((part, ""));
        text.push('%');
        text.push_str(&hex.to_lowercase());
        text.push_str(rest);
        text
    })
}

/// What of a value stays the same in Base64 wherever it stands, with so many bytes `before` it in its group of three.
fn within(value: &str, before: usize, engine: &impl Engine) -> Option<String> {
    let mut bytes = vec![0; before];
    bytes.extend(value.as_bytes());
    let end = bytes.len() * 8 / 6;
    let encoded = engine.encode(bytes);
    let kept = encoded.get((before * 8).div_ceil(6)..end)?;
    (kept.len() >= DISTINCT).then(|| kept.to_owned())
}

/// Characters below which a part of an encoded value may be anything.
const DISTINCT: usize = 8;

/// The ways in which a back-end may give a value back.
fn spellings(value: &str) -> Vec<String> {
    let json = Value::from(value).to_string();
    let json = json.strip_prefix('"').and_then(|it| it.strip_suffix('"')).unwrap_or(value);
    let percent = utf8_percent_encode(value, NON_ALPHANUMERIC).to_string();
    let address = utf8_percent_encode(value, RESERVED).to_string();
    let page = value.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;");
    let mut all = vec![
        value.to_owned(),
        json.to_owned(),
        // What some writers escape so that their JSON can stand in a page.
        json.replace('/', "\\/"),
        json.replace('&', "\\u0026").replace('<', "\\u003c").replace('>', "\\u003e"),
        lower_hex(&percent),
        lower_hex(&address),
        // Forms write a space as a plus.
        address.replace("%20", "+"),
        percent,
        address,
        page.replace('\'', "&#39;"),
        page.replace('\'', "&#x27;"),
        page.replace('\'', "&#039;"),
        page,
        STANDARD.encode(value),
        URL_SAFE_NO_PAD.encode(value),
    ];
    // In the middle of something longer that is encoded, such as a whole header.
    for before in 0..3 {
        all.extend([within(value, before, &STANDARD_NO_PAD), within(value, before, &URL_SAFE_NO_PAD)].into_iter().flatten());
    }
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
    fn a_secret_is_struck_out_however_it_is_escaped() {
        const VALUE: &str = "Kq+w/e&r<t>\"y'u=12 34==";
        let mut secrets = Secrets::default();
        secrets.know("crm", VALUE);
        let once = Value::from(VALUE).to_string();
        let every: String = VALUE.chars().map(|it| format!("\\u{:04X}", u32::from(it))).collect();
        for echoed in [
            r"Kq+w/e\u0026r\u003ct\u003e\u0022y\u0027u\u003d12 34\u003d\u003d".to_owned(),
            r"Kq\u002Bw/e\u0026r\u003Ct\u003E\u0022y\u0027u=12 34==".to_owned(),
            every,
            "Kq+w\\/e&r<t>\\\"y'u=12 34==".to_owned(),
            // JSON within JSON.
            json!({"body": once}).to_string(),
            json!([json!({"body": once}).to_string()]).to_string(),
            "Kq%2Bw%2Fe%26r%3Ct%3E%22y%27u%3D12+34%3D%3D".to_owned(),
            "Kq%2bw%2fe%26r%3ct%3e%22y%27u%3d12%2034%3d%3d".to_owned(),
            "Kq+w/e&amp;r&lt;t&gt;&quot;y&#39;u=12 34==".to_owned(),
            STANDARD.encode(format!("Bearer {VALUE}")),
            STANDARD.encode(format!("user:{VALUE}, and more")),
            URL_SAFE_NO_PAD.encode(format!("{VALUE}!")),
        ] {
            let text = format!("\\\"{echoed}\\n");
            let scrubbed = secrets.scrub(&text);
            assert!(scrubbed.contains("[secret crm]"), "{text}: {scrubbed}");
            assert!(!scrubbed.contains("12 34") && !scrubbed.contains("u003d") && !scrubbed.contains("MTIgMzQ"), "{text}: {scrubbed}");
        }
        let harmless = r#"{"a": "C:\\temp\u0021", "b": "\ud83d\ude00 \x", "c": "\u00"}"#;
        assert!(matches!(secrets.scrub(harmless), Cow::Borrowed(_)));
        // What stands around it stays as it was.
        assert_eq!(
            secrets.scrub("{\"n\": 1.50, \"k\": \"\\u004bq+w/e&r<t>\\\"y'u=12 34==\\u00e9\"}"),
            "{\"n\": 1.50, \"k\": \"[secret crm]\\u00e9\"}"
        );
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
}
