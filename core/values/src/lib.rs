//! Reads the values that people write: numbers, amounts of money, days, times, durations, consent.
//!
//! One grammar reads all kinds: rules per kind and language are data over tokens, and larger values are composed of smaller ones. A value
//! is read whole or not at all: what stands beside it and changes it takes part in it or forbids it, and what is part of another kind's
//! value is not read as a value itself. The core is a pure function: the moment and the locale are inputs.
//!
//! No modules use one another in a circle. From the bottom: `language` has the words and rules of languages as data, `grammar` and
//! `lexicon` compile them, `input` is a text with its numbers, `money` and `digit_dates` read what needs no rules, `parser` applies
//! the rules, and `parse` chooses among what they find. What a question adds to a short answer is in `answer`, and what a
//! message only tells of in `mentions`.

mod action;
mod answer;
mod calendar;
mod category;
mod choice;
mod commands;
mod common_rules;
mod compiled_language;
mod consent;
mod context;
mod currency;
mod digit_dates;
mod grammar;
mod half_day;
mod ignorance;
mod input;
mod kind;
mod language;
mod lexicon;
mod meaning;
mod mentions;
mod money;
mod number;
mod number_marks;
mod number_words;
mod numbers;
mod parse;
mod parser;
mod phrases;
mod range_context;
mod range_ends;
mod restatement;
mod token;
mod value_range;

pub use self::answer::read_answer;
pub use self::choice::{ChosenBy, read_choice};
pub use self::commands::{
    COMMANDS, Command, Correction, are_alternatives, denied_parts, has_other_words, has_refusal, is_addition, is_part_denied, is_refused,
    read_command, read_correction, split_alternatives, without_refusals,
};
pub use self::consent::{Consent, is_inquiry, is_question, read_consent, read_consent_to, read_consent_to_in_any_language};
pub use self::context::{Context, Direction};
pub use self::currency::is_code as is_currency_code;
pub use self::half_day::{is_bare_hour, says_afternoon};
pub use self::ignorance::is_ignorance;
pub use self::kind::Kind;
pub use self::mentions::{Mention, asks_for_past, names_absence, read_mention, tells_of_past};
pub use self::number_marks::{NumberMarks, number_marks};
pub use self::parse::{Parse, Reading, read, read_whole};
pub use self::restatement::restate_number;
