//! Documents of many languages and formats: the characters that are written into them are those that searches find. The documents are made
//! here, by code, of texts that were written for it.

mod pdf_writer;
mod samples;
mod true_type;

use std::collections::BTreeSet;

use convengine_core::knowledge::{Source, UNREADABLE, cut_source, query_terms};
use convengine_storage::assistant::knowledge::source;
use convengine_storage::testing::each_database;
use convengine_storage::{Connection, Pool};

use super::document::Document;
use super::indexing::put_source;
use samples::{Sample, samples};

/// A row of the table.
struct Row {
    name: String,
    written: usize,
    found: usize,
    unreadable: i64,
    pages: u32,
    status: String,
}

/// The letters of a text, without white space, marks of Markdown and what is not seen.
fn letters(text: &str) -> Vec<char> {
    let is_left_out = |it: &char| it.is_whitespace() || matches!(it, '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{feff}' | '*' | '#' | '\\');
    text.chars().filter(|it| !is_left_out(it)).collect()
}

/// The number of characters that both texts have in the same order.
fn count_common(left: &[char], right: &[char]) -> usize {
    let mut row = vec![0; right.len() + 1];
    for one in left {
        let mut diagonal = 0;
        for (place, other) in right.iter().enumerate() {
            let above = row[place + 1];
            row[place + 1] = if one == other { diagonal + 1 } else { above.max(row[place]) };
            diagonal = above;
        }
    }
    row[right.len()]
}

#[tokio::test]
async fn documents_of_many_languages_and_formats_are_found_as_they_were_written() {
    let languages: BTreeSet<&str> = samples().iter().map(|it| it.locale).collect();
    assert!(samples().len() >= 30 && languages.len() >= 12, "{} documents, {languages:?}", samples().len());
    for format in ["text", "markdown", "html", "pdf"] {
        assert!(samples().iter().any(|sample| sample.format.name() == format), "{format}");
    }
    for mut database in each_database().await {
        let mut rows = Vec::new();
        for sample in samples() {
            rows.push(index(&mut database.connection, &database.pool, sample).await);
        }
        println!("| document | characters in | characters found | unreadable | status |\n|---|---|---|---|---|");
        for row in &rows {
            let pages = if row.pages == 0 { String::new() } else { format!(", {} page", row.pages) };
            println!("| {} | {} | {} | {}{pages} | {} |", row.name, row.written, row.found, row.unreadable, row.status);
        }
        for (row, sample) in rows.iter().zip(samples()) {
            let lost = sample.lost;
            assert_eq!(row.found + lost, row.written, "{}", row.name);
            assert_eq!((row.unreadable, row.pages), (i64::try_from(lost).unwrap(), sample.lost_pages), "{}", row.name);
            assert_eq!(row.status, if lost > 0 || sample.lost_pages > 0 { "partial" } else { "ready" }, "{}", row.name);
        }
    }
}

fn id_of(sample: &Sample) -> String {
    format!("{} {}", sample.locale, sample.name.replace(',', ""))
}

/// Stores a document as a server does, and compares what searches find with what it says.
async fn index(connection: &mut Connection, pool: &Pool, sample: Sample) -> Row {
    let (id, title, locale) = (id_of(&sample), String::new(), sample.locale.to_owned());
    let document = Document { format: sample.format, bytes: sample.bytes, charset: sample.charset.map(str::to_owned) };
    let read = document.convert().await.unwrap_or_else(|it| panic!("{}: {it}", sample.name));
    let (text, format, unreadable_pages) = (read.text, read.format, read.unreadable_pages);
    let of = Source { id: id.clone(), title, text, url: None, locale, format, unreadable_pages };
    let chunks = cut_source(&of);
    let found: Vec<char> = chunks.iter().flat_map(|it| letters(&it.text)).filter(|it| *it != UNREADABLE).collect();
    let written = letters(&sample.text);
    let common = count_common(&written, &found);
    assert_eq!(common, found.len(), "{} has characters that were not written: {:?}, not {:?}", sample.name, of.text, sample.text);
    let is_counted = |term: &String| chunks.iter().any(|chunk| chunk.count(term) > 0);
    let terms = query_terms(sample.word, &[sample.locale]);
    assert!(!terms.is_empty() && terms.iter().all(is_counted), "{}: {terms:?} in {:?}", sample.name, of.text);
    put_source(connection, "desk", of).await.expect("stored");
    let row = source::find(pool, "desk", &id).await.expect("an answer").expect("a source");
    let (unreadable, pages, status) = (row.unreadable_characters, row.source.unreadable_pages, row.status);
    Row { name: format!("{}: {}", sample.locale, sample.name), written: written.len(), found: common, unreadable, pages, status }
}
