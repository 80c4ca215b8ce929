//! Owns text processing: variable paths, dates, numbers, patterns, expressions and the two template languages.
//!
//! The languages share the [scanner], what values mean ([`value::Dialect`]), and JSON trees of compiled strings ([`json::JsonTree`]). Each
//! has its own grammar and tree: names are paths in one and objects with methods in the other, `!` binds looser than `==` or tighter, and
//! errors name a character or a line.

mod compiled_pattern;
pub mod cron;
pub mod date;
pub mod expr;
pub mod interpolation;
pub mod json;
pub mod language;
pub mod locale;
pub mod marked_phrase;
pub mod names;
pub mod normal_form;
pub mod personal_data;
pub mod phrase;
pub mod plain_markdown;
pub mod reasoning;
pub mod regex;
pub mod required_literals;
pub mod scanner;
pub mod stop_words;
pub mod task;
pub mod template;
#[cfg(test)]
mod test_numbers;
pub mod time_zone;
pub mod url;
pub mod value;
pub mod variable_path;

/// Collapses every run of white space, including line breaks, into one space.
pub fn collapse_whitespace(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Truncates a text to at most `most` characters and appends an ellipsis when something was cut off.
pub fn truncate_with_ellipsis(text: &str, most: usize) -> String {
    if text.chars().count() <= most {
        return text.to_owned();
    }
    text.chars().take(most).chain(['…']).collect()
}

/// Converts the first letter to upper case.
fn capitalize(text: &str) -> String {
    let mut characters = text.chars();
    characters.next().map(|first| first.to_uppercase().chain(characters).collect()).unwrap_or_default()
}
