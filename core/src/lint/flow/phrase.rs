//! Phrases that stand in each other's way. (I005, I006, I011)

use std::collections::{BTreeMap, BTreeSet};

use aho_corasick::AhoCorasick;

use super::ground::Ground;
use crate::config::flow::DocumentIssue;
use crate::text::phrase::Phrase;

/// What stands between tokens; no token holds it.
const BETWEEN: &str = "\u{1f}";

/// A phrase of an intent.
struct Said<'f> {
    intent: usize,
    number: usize,
    name: &'f str,
    text: &'f str,
}

pub(super) fn check(ground: &Ground<'_>, found: &mut Vec<DocumentIssue>) {
    let document = &ground.flow.document;
    let mut said: BTreeMap<String, Vec<Said<'_>>> = BTreeMap::new();
    let all = document.intents.iter().zip(&ground.flow.phrases).enumerate().filter(|(_, (it, _))| it.enabled && !it.is_fallback);
    for (intent, (form, phrases)) in all {
        for (number, (text, phrase)) in form.phrases.iter().zip(&phrases.said).enumerate() {
            if !phrase.tokens().is_empty() {
                said.entry(key(phrase)).or_default().push(Said { intent, number, name: &form.name, text });
            }
        }
    }
    for same in said.values() {
        equal(ground, same, found);
    }
    contained(ground, &said, found);
    for (at, (talk, patterns)) in document.small_talk.iter().zip(&ground.flow.talk).enumerate() {
        for (number, pattern) in patterns.iter().enumerate() {
            if let Some(intent) = said.get(&key(pattern)).and_then(|it| it.first()) {
                let place = ground.listed("small_talk", at).at(&format!("/patterns/{number}"));
                let text = talk.patterns.get(number).map_or("", String::as_str);
                let message = format!("'{text}' is a phrase of '{}' too, and small talk comes first", intent.name);
                found.push(place.warning("I011", message).fix("remove it from one of them"));
            }
        }
    }
}

/// The tokens of a phrase with what stands between them, at both ends too.
fn key(phrase: &Phrase) -> String {
    phrase.tokens().iter().fold(BETWEEN.to_owned(), |key, it| key + it + BETWEEN)
}

fn equal(ground: &Ground<'_>, same: &[Said<'_>], found: &mut Vec<DocumentIssue>) {
    let Some(first) = same.first() else { return };
    let mut told = BTreeSet::from([first.intent]);
    for other in same.iter().filter(|it| told.insert(it.intent)) {
        let place = ground.listed("intents", other.intent).at(&format!("/phrases/{}", other.number));
        let message = format!("'{}' is a phrase of '{}' too", other.text, first.name);
        found.push(place.warning("I005", message).fix("remove it from one of them"));
    }
}

/// All phrases are looked for in all phrases at once.
fn contained(ground: &Ground<'_>, said: &BTreeMap<String, Vec<Said<'_>>>, found: &mut Vec<DocumentIssue>) {
    let keys: Vec<(&String, &Vec<Said<'_>>)> = said.iter().collect();
    let Ok(finder) = AhoCorasick::new(keys.iter().map(|it| it.0)) else { return };
    let mut told: BTreeMap<(usize, usize), (&Said<'_>, &Said<'_>)> = BTreeMap::new();
    for (whole, longer) in &keys {
        for hit in finder.find_overlapping_iter(whole.as_str()) {
            let Some((part, shorter)) = keys.get(hit.pattern().as_usize()) else { continue };
            if part == whole {
                continue;
            }
            for short in shorter.iter() {
                if let Some(long) = longer.iter().find(|it| it.intent != short.intent) {
                    told.entry((short.intent, short.number)).or_insert((short, long));
                }
            }
        }
    }
    for (short, long) in told.values() {
        let place = ground.listed("intents", short.intent).at(&format!("/phrases/{}", short.number));
        let message = format!("'{}' is a part of the phrase '{}' of '{}'", short.text, long.text, long.name);
        found.push(place.warning("I006", message).fix("make sure that the longer phrase is the one that is meant: it wins"));
    }
}
