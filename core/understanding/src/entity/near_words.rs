//! Assigns values of a message to slots of the same type by the words beside them (docs/spec/flows.md#4.4).

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use convengine_text::locale::{is_determiner, without_article};
use convengine_text::marked_phrase::MarkNeighbors;
use convengine_text::phrase::{Phrase, PlacedPhrase};

/// How strongly a word of the name of a slot, or a word beside its mark, stands for it.
const NAME_STRENGTH: u8 = 2;

/// How strongly a word of its prompt does.
const PROMPT_STRENGTH: u8 = 1;

/// Words of slots for where something begins, and those with which people say it.
const ORIGIN: Direction = Direction {
    slot: "from origin source departure start von vom woher ab herkunft abfahrt desde origen salida depuis depart origine da dal partenza origem saida \
           partida van vanaf vertrek herkomst",
    message: [
        ("en", "from"),
        ("de", "von vom aus ab"),
        ("es", "de desde del"),
        ("fr", "de depuis du"),
        ("it", "da dal dalla"),
        ("pt", "de desde do da"),
        ("nl", "van vanaf"),
    ],
};

/// The same for where it ends.
const DESTINATION: Direction = Direction {
    slot: "to destination target arrival nach wohin zu ziel hasta hacia destino llegada adonde vers arrivee verso destinazione arrivo para chegada \
           naar bestemming aankomst",
    message: [
        ("en", "to into towards"),
        ("de", "nach zum zur aufs"),
        ("es", "a al hasta hacia para"),
        ("fr", "a au vers pour"),
        ("it", "a verso per"),
        ("pt", "para ate a ao"),
        ("nl", "naar"),
    ],
};

struct Direction {
    slot: &'static str,
    /// By language.
    message: [(&'static str, &'static str); 7],
}

/// Words that stand for a slot, each with its strength.
#[derive(Debug, Default)]
pub struct NearWords {
    before: BTreeMap<String, u8>,
    after: BTreeMap<String, u8>,
}

/// The side of a value on which a word stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Side {
    Before,
    After,
}

/// The normalization of words, by the locale of phrases and that of the session.
#[derive(Debug, Clone, Copy)]
pub struct WordLocales<'l> {
    /// The locale of the phrases.
    pub phrases: &'l str,
    /// The locale of the session.
    pub session: &'l str,
}

/// A value of the message: its number among all, and the words beside it.
struct ValueWords<'m> {
    number: usize,
    before: Option<&'m str>,
    after: Option<&'m str>,
}

impl NearWords {
    /// Adds the words of the name of a variable.
    pub fn add_name(&mut self, name: &str, locales: WordLocales<'_>) {
        let mut words = String::new();
        let mut last = ' ';
        for character in name.chars() {
            // `fromAccount` has two words.
            if character.is_ascii_uppercase() && last.is_ascii_lowercase() {
                words.push(' ');
            }
            words.push(if character == '_' { ' ' } else { character });
            last = character;
        }
        self.add_text(&words, NAME_STRENGTH, locales);
    }

    /// Adds the words of a prompt without its placeholders.
    pub fn add_prompt(&mut self, template: &str, locales: WordLocales<'_>) {
        let texts = template.split("{{").map(|part| part.split_once("}}").map_or(part, |(_, after)| after));
        self.add_text(&texts.collect::<Vec<_>>().join(" "), PROMPT_STRENGTH, locales);
    }

    /// Adds the words beside a mark, each for its side only.
    pub fn add_neighbors(&mut self, neighbors: MarkNeighbors<'_>, locales: WordLocales<'_>) {
        let before = neighbors.before.iter().rev().find(|it| !is_determiner(it, locales.session));
        for (word, words) in [(before, &mut self.before), (neighbors.after.first(), &mut self.after)] {
            if let Some(word) = word {
                words.insert(without_article(word, locales.session).to_owned(), NAME_STRENGTH);
            }
        }
    }

    fn add_text(&mut self, text: &str, strength: u8, locales: WordLocales<'_>) {
        for word in Phrase::new(text, locales.phrases).tokens().iter().filter(|it| !is_determiner(it, locales.session)) {
            for words in [&mut self.before, &mut self.after] {
                let known = words.entry(without_article(word, locales.session).to_owned()).or_default();
                *known = strength.max(*known);
            }
        }
    }

    /// Adds the words before a value that say where something begins or ends, if the slot is for that. It tells slots of a type apart.
    pub fn add_directions(&mut self, locales: WordLocales<'_>) {
        let code = locales.session.split(['-', '_']).next().unwrap_or_default();
        for direction in [ORIGIN, DESTINATION] {
            if !direction.slot.split_whitespace().any(|it| self.before.contains_key(it)) {
                continue;
            }
            let words = direction.message.iter().filter(|it| it.0.eq_ignore_ascii_case(code)).flat_map(|it| it.1.split(' '));
            for word in words {
                let known = self.before.entry(word.to_owned()).or_default();
                *known = PROMPT_STRENGTH.max(*known);
            }
        }
    }

    /// The words that stand for this slot on a side on which they do not stand for another.
    pub fn words_without<'w>(&'w self, other: &'w NearWords) -> impl Iterator<Item = &'w str> {
        let sides = [(&self.before, &other.before), (&self.after, &other.after)].into_iter();
        sides.flat_map(|(own, others)| own.keys().filter(|word| !others.contains_key(*word))).map(String::as_str)
    }

    fn strength(&self, side: Side, word: &str) -> u8 {
        let words = if side == Side::Before { &self.before } else { &self.after };
        words.get(word).copied().unwrap_or_default()
    }
}

/// Assigns values to slots; returns the numbers of slots with the numbers of their values. The words before the values decide, or those behind
/// them if these decide more.
pub fn assign(slots: &[&NearWords], values: &[Range<usize>], message: &PlacedPhrase, locales: WordLocales<'_>) -> Vec<(usize, usize)> {
    let values: Vec<ValueWords<'_>> =
        values.iter().enumerate().map(|(number, it)| value_words(number, it, values, message, locales)).collect();
    let (before, after) = (assign_side(Side::Before, slots, &values, &[]), assign_side(Side::After, slots, &values, &[]));
    let (mut assigned, other) = if after.len() > before.len() { (after, Side::Before) } else { (before, Side::After) };
    assigned.extend(assign_side(other, slots, &values, &assigned));
    assigned
}

/// Returns the words beside a value that belong to no value. Articles before it do not count.
fn value_words<'m>(
    number: usize,
    range: &Range<usize>,
    values: &[Range<usize>],
    message: &'m PlacedPhrase,
    locales: WordLocales<'_>,
) -> ValueWords<'m> {
    let (tokens, places) = (message.tokens(), message.places());
    let is_free = |range: &Range<usize>| !values.iter().any(|value| value.start < range.end && range.start < value.end);
    let plain = |word: &'m String| without_article(word, locales.session);
    let mut preceding = tokens.iter().zip(places).filter(|it| it.1.end <= range.start).rev();
    let before = preceding.find(|it| !is_determiner(it.0, locales.session)).filter(|it| is_free(it.1)).map(|it| plain(it.0));
    let after = tokens.iter().zip(places).find(|it| it.1.start >= range.end).filter(|it| is_free(it.1)).map(|it| plain(it.0));
    ValueWords { number, before, after }
}

fn assign_side(side: Side, slots: &[&NearWords], values: &[ValueWords<'_>], assigned: &[(usize, usize)]) -> Vec<(usize, usize)> {
    let mut claims: Vec<(u8, usize, usize)> = Vec::new();
    for value in values {
        let Some(word) = (if side == Side::Before { value.before } else { value.after }) else { continue };
        let strengths: Vec<u8> = slots.iter().map(|it| it.strength(side, word)).collect();
        let most = strengths.iter().copied().max().unwrap_or_default();
        // A word of several slots decides nothing.
        let mut strongest = strengths.iter().enumerate().filter(|&(_, strength)| most > 0 && *strength == most);
        if let (Some((slot, _)), None) = (strongest.next(), strongest.next()) {
            claims.push((most, slot, value.number));
        }
    }
    claims.sort_by_key(|it| std::cmp::Reverse(it.0));
    let mut slots: BTreeSet<usize> = assigned.iter().map(|it| it.0).collect();
    let mut numbers: BTreeSet<usize> = assigned.iter().map(|it| it.1).collect();
    let mut found = Vec::new();
    for (_, slot, number) in claims {
        if !slots.contains(&slot) && numbers.insert(number) {
            slots.insert(slot);
            found.push((slot, number));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Assigns the values of a text, each in brackets, to slots given as `name: prompt`.
    fn assigned(locale: &str, slots: &[&str], text: &str) -> String {
        let locales = WordLocales { phrases: locale, session: locale };
        let words = |slot: &&str| {
            let (name, prompt) = slot.split_once(": ").unwrap_or((slot, ""));
            let mut words = NearWords::default();
            words.add_name(name, locales);
            words.add_prompt(prompt, locales);
            words
        };
        let all: Vec<NearWords> = slots.iter().map(words).collect();
        let starts = text.match_indices('[').map(|it| it.0 + 1);
        let values: Vec<Range<usize>> = starts.zip(text.match_indices(']').map(|it| it.0)).map(|it| it.0..it.1).collect();
        let found = assign(&all.iter().collect::<Vec<_>>(), &values, &PlacedPhrase::new(text, locale), locales);
        let shown =
            found.iter().map(|(slot, number)| format!("{}={}", slots[*slot].split(':').next().unwrap(), &text[values[*number].clone()]));
        shown.collect::<Vec<_>>().join(", ")
    }

    #[test]
    fn words_beside_values_decide() {
        for (locale, slots, text, expected) in [
            ("en", ["from", "to"], "move from [savings] to [checking]", "from=savings, to=checking"),
            ("en", ["from", "to"], "to my [checking] from the [savings]", "to=checking, from=savings"),
            ("en", ["move.from_account", "move.toAccount"], "from [a] to [b]", "move.from_account=a, move.toAccount=b"),
            ("en", ["from", "to"], "[savings] to [checking]", "to=checking"),
            ("en", ["from", "to"], "[savings] [checking]", ""),
            ("en", ["adults", "children"], "[5] adults [2] children", "adults=5, children=2"),
            ("en", ["adults", "children"], "adults [5] children [2]", "adults=5, children=2"),
            ("en", ["adults", "children"], "[2] adults, children [5]", "children=5, adults=2"),
            ("en", ["a: From which {{ from.to }} account?", "b: To which account?"], "to [x], from [y]", "b=x, a=y"),
            ("en", ["from: Where do you want to go from?", "to: Where to?"], "to [x] from [y]", "to=x, from=y"),
            ("en", ["a: Which account?", "b: Which account?"], "account [x]", ""),
            ("en", ["from", "to"], "from [x] or from [y]", "from=x"),
            ("de", ["a: Von welchem Konto?", "b: Auf welches Konto?"], "aufs [x] vom [y], auf das [z]", "b=x, a=y"),
            ("fr", ["p: De quelle ville ?", "q: À quelle ville ?"], "du [x] au [y]", "p=x, q=y"),
        ] {
            assert_eq!(assigned(locale, &slots, text), expected, "{text}");
        }
    }

    #[test]
    fn words_beside_a_mark_count_on_their_side() {
        let locales = WordLocales { phrases: "en", session: "en" };
        let phrase = convengine_text::marked_phrase::MarkedPhrase::parse("swap {x} for the {y}", "en").unwrap();
        let words: Vec<NearWords> = phrase
            .neighbors()
            .map(|neighbors| {
                let mut words = NearWords::default();
                words.add_neighbors(neighbors, locales);
                words
            })
            .collect();
        let found = assign(&words.iter().collect::<Vec<_>>(), &[5..6, 11..12], &PlacedPhrase::new("swap a for b", "en"), locales);
        assert_eq!(found, [(0, 0), (1, 1)]);
    }
}
