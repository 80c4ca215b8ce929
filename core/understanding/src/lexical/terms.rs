//! Turns an utterance into weighted terms: words, pairs of words, and pieces of words.

use convengine_text::language::{Stemmer, language_of, stem};
use convengine_text::normal_form::compose;
use convengine_text::phrase::{Phrase, is_unspaced};
use convengine_text::stop_words::is_stop_word;

/// Longer words are cut: encoded data has nothing to say.
const MAX_WORD_CHARS: usize = 40;

/// More terms are ignored, so that a pasted page costs no more than a long question.
const MAX_TERMS: usize = 2_000;

/// What a term is taken from. The two blocks are normalised on their own, so that neither drowns the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum TermKind {
    /// A stemmed word, or two of them in a row.
    Word,
    /// Two to five adjacent characters of a word with its borders.
    Piece,
}

/// A term of an utterance.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Term {
    pub kind: TermKind,
    /// Whether it is of a function word such as `the`, which is in sentences about anything.
    pub is_function: bool,
    /// The text: `_` stands for the border of a word, and joins the words of a pair.
    pub text: String,
}

impl Term {
    /// The number by which a vocabulary knows the term.
    pub fn hash(&self) -> u32 {
        let seed = match self.kind {
            TermKind::Word => 0x811c_9dc5_u32,
            TermKind::Piece => 0x2c1b_3c6d,
        };
        // FNV-1a, then mixed, because similar texts differ in few bits.
        let mut hash = self.text.bytes().fold(seed, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193));
        hash ^= hash >> 16;
        hash = hash.wrapping_mul(0x7feb_352d);
        hash ^= hash >> 15;
        hash = hash.wrapping_mul(0x846c_a68b);
        hash ^ (hash >> 16)
    }
}

/// Returns the terms of an utterance in the order of the text, repetitions included.
pub(super) fn terms_of(text: &str, locale: &str) -> Vec<Term> {
    let text = join_contractions(text);
    let language = language_of(locale);
    let stemmer = language.map(Stemmer::create);
    let is_function = |word: &str| language.is_some_and(|language| is_stop_word(word, language));
    let mut terms = Vec::new();
    let mut before = (String::new(), true);
    for token in Phrase::new(&text, locale).tokens() {
        if token.starts_with(is_unspaced) {
            continue;
        }
        let is_function = is_function(token);
        // The stemmers expect composed letters, the normaliser decomposes them.
        let word: String = compose(token).take(MAX_WORD_CHARS).collect();
        let stemmed = stem(&word, stemmer.as_ref());
        terms.push(Term { kind: TermKind::Word, is_function: is_function && before.1, text: format!("{}_{stemmed}", before.0) });
        terms.push(Term { kind: TermKind::Word, is_function, text: stemmed.clone() });
        before = (stemmed, is_function);
    }
    push_pieces(&text, is_function, &mut terms);
    terms.truncate(MAX_TERMS);
    terms
}

fn push_pieces(text: &str, is_function: impl Fn(&str) -> bool, terms: &mut Vec<Term>) {
    let mut run: Vec<char> = Vec::new();
    // Without accents: they are often left out.
    for token in Phrase::without_accents(text).tokens() {
        if token.starts_with(is_unspaced) {
            run.extend(token.chars());
            continue;
        }
        push_unspaced(&mut run, terms);
        let word: Vec<char> = ['_'].into_iter().chain(token.chars().take(MAX_WORD_CHARS)).chain(['_']).collect();
        push_grams(&word, 3..=4, is_function(token), terms);
    }
    push_unspaced(&mut run, terms);
}

/// Scripts without spaces: single characters are words, pairs and triples phrases.
fn push_unspaced(run: &mut Vec<char>, terms: &mut Vec<Term>) {
    push_grams(run, 1..=3, false, terms);
    run.clear();
}

fn push_grams(characters: &[char], sizes: std::ops::RangeInclusive<usize>, is_function: bool, terms: &mut Vec<Term>) {
    for size in sizes {
        terms.extend(characters.windows(size).map(|letters| Term { kind: TermKind::Piece, is_function, text: letters.iter().collect() }));
    }
}

/// Removes the apostrophe of contractions, which people often leave out: `what's` is `whats`.
fn join_contractions(text: &str) -> String {
    let mut joined = String::with_capacity(text.len());
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        let is_apostrophe = matches!(character, '\'' | '’' | 'ʼ' | '`');
        let joins = is_apostrophe && joined.ends_with(char::is_alphanumeric) && characters.peek().is_some_and(|it| it.is_alphanumeric());
        if !joins {
            joined.push(character);
        }
    }
    joined
}
