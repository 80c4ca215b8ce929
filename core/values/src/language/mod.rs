//! Languages as data: one file each. Words are folded: lower case, without accents, hyphens and apostrophes as blanks.

pub(crate) mod answer_words;
pub(crate) mod choice_words;
pub(crate) mod command_words;
mod de;
mod en;
mod es;
mod fr;
mod hi;
pub(crate) mod hour_words;
pub(crate) mod ignorance_words;
mod it;
pub(crate) mod mention_words;
mod nl;
mod pt;

use self::command_words::CommandWords;
use crate::action::Action;
use crate::category::Category;
use crate::kind::Kind;
use crate::phrases::Phrases;

/// What a language says numbers, dates, amounts and consent with.
pub(crate) struct Language {
    /// Its subtag in locales.
    pub code: &'static str,
    /// Number words.
    pub numbers: NumberWords,
    /// Rules by what they make: a pattern and what it means. Patterns are described at [`grammar`](crate::grammar).
    pub rules: &'static [(Category, &'static [(&'static str, Action)])],
    /// Prepositions and articles before a day or a time, which are no part of its place.
    pub lead_ins: &'static str,
    /// Words that are written together and read apart, each of the first with each of the second: `montag|dienstag` and `abend`.
    pub joined_words: &'static [(&'static str, &'static str)],
    /// Names of currencies, alternatives separated by `|`, each with its code.
    pub currencies: &'static [(&'static str, &'static str)],
    /// Names of hundredth parts, each with the codes of its currencies; none for all of them.
    pub cents: &'static [(&'static str, &'static str)],
    /// Words about ranges of numbers and amounts.
    pub range_words: RangeWords,
    /// Words that leave no value when they stand beside one.
    pub vetoes: &'static [Veto],
    /// Phrases that deny the days and times that follow in their clause: `can't` in "I can't come on Friday".
    pub negations: &'static str,
    /// Phrases that look like one of them and deny nothing: `can't wait`.
    pub mock_negations: &'static str,
    /// Consent and refusal.
    pub consent: Consent,
    /// Commands and corrections.
    pub commands: CommandWords,
}

/// Words that say whether numbers from one to another are a range.
pub(crate) struct RangeWords {
    /// What is counted: digits with a hyphen between them are a range before such a word, and small numbers are no hours.
    pub counted: &'static str,
    /// Words that deny or question what is said in their clause.
    pub denials: &'static str,
    /// Words with which a clause begins that is contrasted with the one before.
    pub but: &'static str,
    /// Words beside which small numbers may be hours.
    pub hours: &'static str,
    /// Phrases with which a sentence begins that asks about a range and names none.
    pub questions: &'static str,
}

/// Words that forbid values of some kinds, as data or compiled.
pub(crate) struct Veto<List = &'static str> {
    /// The kinds.
    pub kinds: &'static [Kind],
    /// Phrases directly before a value, separated by `|`.
    pub before: List,
    /// Phrases directly behind a value, separated by `|`.
    pub behind: List,
}

impl Veto {
    /// Compiles the lists.
    pub fn compile(&self) -> Veto<Phrases> {
        Veto { kinds: self.kinds, before: Phrases::new(self.before), behind: Phrases::new(self.behind) }
    }
}

/// The number words of a language. Alternatives are separated by `|`; a phrase may have several words.
pub(crate) struct NumberWords {
    /// Numbers that are added: ones, teens, tens, and hundreds where they have names of their own.
    pub cardinals: &'static [(&'static str, u64)],
    /// Numbers that multiply what is before them: hundred, thousand and more.
    pub multipliers: &'static [(&'static str, u64)],
    /// Ordinal words, each with its number.
    pub ordinals: &'static [(&'static str, u64)],
    /// What makes an ordinal of digits: `st|nd|rd|th`.
    pub ordinal_signs: &'static str,
    /// Endings that make an ordinal of a number word, in languages that write numbers as one word.
    pub ordinal_endings: &'static str,
    /// Parts, each with how many make a whole: half, third, quarter.
    pub parts: &'static [(&'static str, u64)],
    /// Phrases behind a number that add to it, as numerator and denominator: `and a half`.
    pub additions: &'static [(&'static str, i64, i64)],
    /// Words before a number that add to it, where a language has them: Hindi `साढ़े`.
    pub prefixes: &'static [(&'static str, i64, i64)],
    /// Numbers that are no integers: German `anderthalb`.
    pub fractions: &'static [(&'static str, i64, i64)],
    /// What a group is called, each with its number: dozen.
    pub groups: &'static [(&'static str, u64)],
    /// Conjunctions within a number: between tens and ones, or behind a multiplier.
    pub and: &'static str,
    /// Whether ones stand before tens, joined by the conjunction: `einundzwanzig`.
    pub has_ones_first: bool,
    /// Whether numbers are written as one word.
    pub is_compound: bool,
    /// Whether a multiplier without a number before it is one of it: `hundred`, `mil`.
    pub is_one_implied: bool,
    /// Tens that are followed by numbers up to nineteen: French `soixante`.
    pub tens_before_teens: &'static [u64],
    /// Words for the decimal mark; a `~` before one says that it is an ordinary word, too: Spanish `con`.
    pub point: &'static str,
    /// Words for the minus sign.
    pub minus: &'static str,
    /// Words and phrases for the percent sign.
    pub percent: &'static str,
    /// Indefinite articles: one of something, and no number alone.
    pub articles: &'static str,
    /// Words behind digits that multiply them and are written without a blank, such as `k`. What is also a unit, such as `m`, has a `~` before it:
    /// it multiplies when it is written in capitals, and amounts of money.
    pub short_multipliers: &'static [(&'static str, u64)],
    /// Between the halves of a ratio: `over`, `out of`.
    pub over: &'static str,
    /// Between a fraction and what it is a part of: `half of a million`.
    pub of: &'static str,
    /// Phrases before the word for one that make it no number: `which one`.
    pub before_pronoun: &'static str,
    /// Phrases behind the word for one that make it no number: `one of`.
    pub behind_pronoun: &'static str,
}

/// How somebody agrees and refuses, as data or compiled.
pub(crate) struct Consent<List = &'static str> {
    /// Phrases of consent.
    pub yes: List,
    /// Phrases of refusal.
    pub no: List,
    /// Words that change nothing: `please`, `thanks`.
    pub fillers: List,
    /// Words that follow a consent and change it: `but`, `except`.
    pub changes: List,
    /// Phrases of doubt or delay.
    pub unsure: List,
    /// Words with which questions begin.
    pub questions: List,
    /// Words with which questions begin that ask for facts: `is`, `how much`.
    pub inquiries: List,
    /// Words of questions that propose an answer: `is Friday possible?`
    pub proposals: List,
    /// Consent only as the whole text: `right`, `y`.
    pub yes_alone: List,
    /// Refusal only as the whole text.
    pub no_alone: List,
}

impl Consent {
    /// Compiles the lists.
    pub fn compile(&self) -> Consent<Phrases> {
        Consent {
            yes: Phrases::new(self.yes),
            no: Phrases::new(self.no),
            fillers: Phrases::new(self.fillers),
            changes: Phrases::new(self.changes),
            unsure: Phrases::new(self.unsure),
            questions: Phrases::new(self.questions),
            inquiries: Phrases::new(self.inquiries),
            proposals: Phrases::new(self.proposals),
            yes_alone: Phrases::new(self.yes_alone),
            no_alone: Phrases::new(self.no_alone),
        }
    }
}

/// English first: it stands for all others.
pub(crate) const LANGUAGES: [&Language; 8] =
    [&en::LANGUAGE, &de::LANGUAGE, &es::LANGUAGE, &fr::LANGUAGE, &hi::LANGUAGE, &it::LANGUAGE, &pt::LANGUAGE, &nl::LANGUAGE];

/// The codes of the languages, English first.
pub(crate) fn codes() -> impl Iterator<Item = &'static str> {
    LANGUAGES.iter().map(|it| it.code)
}

/// The region of a locale in upper case; empty without one.
pub(crate) fn region_of(locale: &str) -> String {
    let region = locale.split(['-', '_']).skip(1).find(|part| part.len() == 2);
    region.unwrap_or_default().to_ascii_uppercase()
}
