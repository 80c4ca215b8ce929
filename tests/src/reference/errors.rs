//! `error-codes.md`: codes of failed turns, effects and requests, and exit codes.

use std::collections::BTreeSet;

use anyhow::{Context, Result};

use super::lint_codes::{literals_after, sources};
use super::markdown::{code, table, wrap};
use super::{Meanings, Page, prose, read_source};

/// Generates the page.
///
/// # Errors
/// If the meanings or a source cannot be read.
pub fn page() -> Result<Page> {
    let meanings = Meanings::parse("error_codes.txt", include_str!("data/error_codes.txt"))?;
    let mut body = prose(include_str!("data/error_codes_intro.txt"));
    let mut section = |heading: &str, group: &str, head: &[&str], names: Vec<String>| {
        let rows: Vec<Vec<String>> = names.iter().map(|name| row(name, &meanings.get(group, name), head.len())).collect();
        body.push_str(&format!("\n\n## {heading}\n\n{}\n\n{}", wrap(&meanings.section(group)), table(head, &rows).trim_end()));
    };
    section("Failed turns", "faults", &["Code", "Recoverable", "When"], fault_codes()?);
    section("Failed effects", "effects", &["Kind", "When"], enum_variants("core/turn/src/error.rs", "EffectErrorKind")?);
    section("Details of failed effects", "details", &["Detail", "When"], details()?);
    section("Errors of assistant routes", "routes", &["Code", "Status", "When"], route_codes()?);
    section("Errors of other routes", "statuses", &["Status", "When"], meanings.names("statuses"));
    section("Exit codes", "exit", &["Code", "When"], meanings.names("exit"));
    let gaps = meanings.gaps();
    let summary = "codes of failed turns, effects and requests, and exit codes";
    Ok(Page { file: "error-codes.md", title: "Error codes", summary, body, gaps })
}

/// The cells of a row: the name, then the parts of its meaning.
fn row(name: &str, meaning: &str, columns: usize) -> Vec<String> {
    let parts = meaning.splitn(columns - 1, '|').map(|part| part.trim().to_owned());
    std::iter::once(code(name)).chain(parts).collect()
}

fn fault_codes() -> Result<Vec<String>> {
    let source = read_source("core/turn/src/fault.rs")?;
    let names = source.lines().filter_map(|line| line.trim().strip_prefix("FaultCode::")?.split_once("=> \"")?.1.split('"').next());
    Ok(names.map(str::to_owned).collect())
}

/// The codes of `EffectErrorDetail`.
fn details() -> Result<Vec<String>> {
    Ok(literals_after(&read_source("core/turn/src/error.rs")?, "Self(Cow::Borrowed("))
}

/// The variants of an enumeration in snake_case, as they are serialized.
pub(super) fn enum_variants(file: &str, name: &str) -> Result<Vec<String>> {
    let source = read_source(file)?;
    let body = source.split_once(&format!("pub enum {name} {{")).and_then(|it| it.1.split_once("\n}")).map(|it| it.0);
    let lines = body.with_context(|| format!("{file} has no {name}"))?.lines().map(str::trim);
    let variants = lines.filter(|line| !line.is_empty() && !line.starts_with("//") && !line.starts_with('#'));
    Ok(variants.map(|variant| to_snake_case(variant.trim_end_matches(','))).collect())
}

pub(super) fn to_snake_case(name: &str) -> String {
    let mut snake = String::new();
    for letter in name.chars() {
        if letter.is_ascii_uppercase() && !snake.is_empty() {
            snake.push('_');
        }
        snake.push(letter.to_ascii_lowercase());
    }
    snake
}

/// Where routes refuse requests.
const HOST_SOURCES: [&str; 5] =
    ["host-native/src", "host-native/access/src", "host-native/content/src", "host-native/storage/src", "host-native/turns/src"];

/// The codes that assistant routes set by name.
fn route_codes() -> Result<Vec<String>> {
    let mut codes = BTreeSet::new();
    for file in sources(&HOST_SOURCES)? {
        let source = read_source(&file)?;
        codes.extend(literals_after(&source, "with_code("));
        codes.extend(literals_after(&source, "refuse_with("));
    }
    // Refusals of events of runs.
    codes.extend(literals_after(&read_source("core/flow/src/chain/events.rs")?, "RunRefusal::new("));
    Ok(codes.into_iter().collect())
}
