//! Secrets by reference: resolved from environment or file, used by name, and scrubbed from everything that comes back.

mod encoding;
pub mod key_source;
pub mod sealing;
mod unescaped;

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};

use aho_corasick::{AhoCorasick, AhoCorasickKind, MatchKind};
use serde_json::Value;

use encoding::encodings;
use unescaped::UnescapedText;

/// Maximum depth of JSON escapes within JSON escapes.
const MAX_ESCAPE_DEPTH: usize = 4;

/// Secrets by name. `Debug` shows only the names.
///
/// Secrets of the settings are fixed; stored secrets may be replaced while the server runs.
#[derive(Default)]
pub struct Secrets {
    configured: BTreeMap<String, String>,
    known: RwLock<Arc<KnownSecrets>>,
    users: Mutex<SecretUsers>,
}

/// The turns that may have used secrets, by the generation of stored values at their start.
#[derive(Default)]
struct SecretUsers {
    /// Counts the replacements of stored values.
    generation: u64,
    active: BTreeMap<u64, usize>,
}

/// A replaced or deleted value, which responses to calls made with it may still contain.
#[derive(Debug, Clone, PartialEq, Eq)]
struct FormerValue {
    name: String,
    value: String,
    /// The last generation that could use it.
    generation: u64,
}

/// The use of secrets by a turn: values replaced while it runs are scrubbed until it ends.
pub struct SecretUse {
    secrets: Arc<Secrets>,
    generation: u64,
}

impl Drop for SecretUse {
    fn drop(&mut self) {
        let mut users = self.secrets.lock_users();
        if let Some(count) = users.active.get_mut(&self.generation) {
            *count -= 1;
            if *count == 0 {
                users.active.remove(&self.generation);
            }
        }
        self.secrets.drop_unused(&users);
    }
}

/// The secrets at one point in time, with the matcher for their values.
#[derive(Default)]
struct KnownSecrets {
    stored: BTreeMap<String, String>,
    /// Formerly stored values that a running turn may have used.
    former: Vec<FormerValue>,
    /// Matches every encoding of every value; `None` without secrets.
    matcher: Option<AhoCorasick>,
    markers: Vec<String>,
    encodings: Vec<String>,
}

/// Minimum length of a value in characters: replacing shorter ones would garble ordinary text.
pub const MIN_SECRET_CHARS: usize = 8;

/// Maximum number of former values to scrub; the newest are kept.
const MAX_FORMER: usize = 64;

/// Total size of encodings in bytes up to which the matcher is optimized for speed; beyond, it would take too much memory.
const MAX_FAST_BYTES: usize = 64 * 1024;

impl fmt::Debug for Secrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.names()).finish()
    }
}

impl Secrets {
    /// Reads `convengine.secrets.NAME`, each `env:VARIABLE` or `file:PATH`.
    ///
    /// The settings never contain a value, so neither they nor a database made from them reveal it.
    pub fn read(tree: &Value, problems: &mut Vec<String>) -> Secrets {
        let mut secrets = Secrets::default();
        let named = tree.get("secrets").unwrap_or(&Value::Null);
        if !named.is_object() && !named.is_null() {
            // The value is not shown: it may be a secret.
            problems.push("convengine.secrets: missing name; write convengine.secrets.NAME=env:VARIABLE or file:PATH".to_owned());
        }
        for (name, reference) in named.as_object().into_iter().flatten() {
            match resolve(reference.as_str().unwrap_or_default()) {
                Ok(value) if value.chars().nth(MIN_SECRET_CHARS - 1).is_none() => {
                    let line = format!("the secret is too short; use one of at least {MIN_SECRET_CHARS} characters");
                    problems.push(format!("convengine.secrets.{name}: {line}"));
                }
                Ok(value) => secrets.add(name, &value),
                Err(reason) => problems.push(format!("convengine.secrets.{name}: {reason}")),
            }
        }
        secrets
    }

    /// Adds a secret from another source, such as the API key of a model. One that is too short is a placeholder and not scrubbed.
    pub fn add(&mut self, name: &str, value: &str) {
        self.configured.insert(name.to_owned(), value.to_owned());
        let known = self.known_secrets();
        self.set_known(KnownSecrets::new(&self.configured, known.stored.clone(), known.former.clone()));
    }

    /// Replaces all stored secrets. A secret of the settings takes precedence over a stored one of the same name. Former values stay scrubbed
    /// while a turn runs that may have used them.
    pub fn replace_stored(&self, stored: BTreeMap<String, String>) {
        let mut users = self.lock_users();
        let known = self.known_secrets();
        let generation = users.generation;
        users.generation += 1;
        let replaced = known.stored.iter().filter(|previous| stored.get(previous.0) != Some(previous.1));
        let mut former = known.former.clone();
        former.extend(replaced.map(|(name, value)| FormerValue { name: name.clone(), value: value.clone(), generation }));
        former.retain(|it| users.may_have_used(it));
        former.drain(..former.len().saturating_sub(MAX_FORMER));
        self.set_known(KnownSecrets::new(&self.configured, stored, former));
    }

    /// Records that a turn may use secrets until the returned value is dropped.
    pub fn begin_use(self: &Arc<Self>) -> SecretUse {
        let mut users = self.lock_users();
        let generation = users.generation;
        *users.active.entry(generation).or_default() += 1;
        SecretUse { secrets: Arc::clone(self), generation }
    }

    /// Drops former values that no running turn can have used.
    fn drop_unused(&self, users: &SecretUsers) {
        let known = self.known_secrets();
        if known.former.iter().all(|it| users.may_have_used(it)) {
            return;
        }
        let former = known.former.iter().filter(|it| users.may_have_used(it)).cloned().collect();
        self.set_known(KnownSecrets::new(&self.configured, known.stored.clone(), former));
    }

    fn lock_users(&self) -> MutexGuard<'_, SecretUsers> {
        self.users.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the value of a secret.
    pub fn get(&self, name: &str) -> Option<String> {
        self.configured.get(name).cloned().or_else(|| self.known_secrets().stored.get(name).cloned())
    }

    /// Returns the names of all secrets.
    pub fn names(&self) -> BTreeSet<String> {
        self.configured.keys().chain(self.known_secrets().stored.keys()).cloned().collect()
    }

    fn known_secrets(&self) -> Arc<KnownSecrets> {
        Arc::clone(&self.known.read().unwrap_or_else(PoisonError::into_inner))
    }

    fn set_known(&self, known: KnownSecrets) {
        *self.known.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(known);
    }

    /// Replaces every secret in a text by a marker with its name.
    pub fn scrub<'t>(&self, text: &'t str) -> Cow<'t, str> {
        let known = self.known_secrets();
        let Some(finder) = &known.matcher else { return Cow::Borrowed(text) };
        let mut scrubbed = if finder.is_match(text) { Cow::Owned(finder.replace_all(text, &known.markers)) } else { Cow::Borrowed(text) };
        // JSON encoders differ in what they escape, so search the unescaped text as well, and JSON within JSON.
        if !scrubbed.contains('\\') {
            return scrubbed;
        }
        let (mut view, mut depth) = (UnescapedText::new(&scrubbed), 0);
        while depth < MAX_ESCAPE_DEPTH {
            let Some(unescaped) = view.unescape() else { break };
            view = unescaped;
            depth += 1;
            let found: Vec<_> =
                finder.find_iter(&view.text).map(|place| (view.original_range(place.start()..place.end()), place.pattern())).collect();
            if !found.is_empty() {
                let mut text = scrubbed.into_owned();
                for (range, pattern) in found.into_iter().rev() {
                    text.replace_range(range, known.markers.get(pattern.as_usize()).map_or("", String::as_str));
                }
                scrubbed = Cow::Owned(text);
                (view, depth) = (UnescapedText::new(&scrubbed), 0);
            }
        }
        scrubbed
    }

    /// Returns the length of the prefix of an incomplete text that can be scrubbed now: no secret can cross its end.
    pub fn settled_len(&self, text: &str) -> usize {
        let known = self.known_secrets();
        let Some(finder) = &known.matcher else { return text.len() };
        let from = text.len().saturating_sub(finder.max_pattern_len());
        // Only a possible beginning of a secret is held back, so that other text is not delayed.
        let begins = |at: &usize| {
            text.get(*at..).is_some_and(|rest| known.encodings.iter().any(|form| form.len() > rest.len() && form.starts_with(rest)))
        };
        let end = (from..text.len()).find(begins).unwrap_or(text.len());
        // A complete secret is not cut.
        finder.find_iter(text).find(|secret| secret.start() < end && secret.end() > end).map_or(end, |it| it.start())
    }

    /// Returns the length of the longest encoding of a secret in bytes, which is the most that a stream has to hold back.
    pub fn max_encoding_len(&self) -> usize {
        self.known_secrets().matcher.as_ref().map_or(0, AhoCorasick::max_pattern_len)
    }
}

impl SecretUsers {
    /// Whether a running turn may have used a former value.
    fn may_have_used(&self, former: &FormerValue) -> bool {
        self.active.first_key_value().is_some_and(|it| *it.0 <= former.generation)
    }
}

impl KnownSecrets {
    fn new(configured: &BTreeMap<String, String>, stored: BTreeMap<String, String>, former: Vec<FormerValue>) -> KnownSecrets {
        let mut known = KnownSecrets { stored, former, ..KnownSecrets::default() };
        let (mut marks, mut patterns) = (Vec::new(), Vec::new());
        let mut add = |name: &str, value: &str| {
            for spelling in encodings(value) {
                patterns.push(spelling);
                // (docs/spec/flow-rulings.md#43)
                marks.push(format!("[secret:{name}]"));
            }
        };
        let is_long = |value: &str| value.chars().nth(MIN_SECRET_CHARS - 1).is_some();
        configured.iter().filter(|it| is_long(it.1)).for_each(|(name, value)| add(name, value));
        known.stored.iter().for_each(|(name, value)| add(name, value));
        known.former.iter().for_each(|it| add(&it.name, &it.value));
        let large = patterns.iter().map(String::len).sum::<usize>() > MAX_FAST_BYTES;
        let kind = large.then_some(AhoCorasickKind::ContiguousNFA);
        known.matcher = AhoCorasick::builder().kind(kind).match_kind(MatchKind::LeftmostLongest).build(&patterns).ok();
        (known.markers, known.encodings) = (marks, patterns);
        known
    }
}

/// Resolves a reference to its value.
///
/// # Errors
/// A message if the reference is invalid, cannot be read, or is empty.
pub fn resolve(reference: &str) -> Result<String, String> {
    let value = match reference.split_once(':') {
        Some(("env", variable)) => std::env::var(variable).map_err(|_| format!("environment variable '{variable}' is not set")),
        Some(("file", path)) => std::fs::read_to_string(path).map_err(|it| format!("cannot read file '{path}': {it}")),
        _ => Err("not a reference; write env:VARIABLE or file:PATH, never the secret itself".to_owned()),
    }?;
    let value = value.trim();
    if value.is_empty() { Err("the secret is empty".to_owned()) } else { Ok(value.to_owned()) }
}

#[cfg(test)]
mod tests;
